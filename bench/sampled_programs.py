"""The CPU time and memory that sampling adds to real programs, beside the samplers of jemalloc and TCMalloc and beside heaptrack.

Each profiler is compared with the same allocator without it, in pairs of one round; a round runs all in another order. The times
are those of the program itself, since a launcher or a viewer works elsewhere. `make bench-sampled_programs`.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from harness.arguments import rounds_and_cases
from harness.measure import RUSAGE_OF, Usage, measure, read_usage
from harness.results import Results, table
from spine_cases import CASES, Case
from spine_subjects import HEAPTRACK_PRELOAD, TARE

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
JEMALLOC = str(LIBRARIES / "libjemalloc.so.2")
TCMALLOC = str(LIBRARIES / "libtcmalloc.so.4")
DISTANCE = 512 << 10  # bytes between samples: the default of jemalloc's profiler and of TCMalloc's sampler


@dataclass(frozen=True)
class Subject:
    name: str
    base: str  # the subject without the profiler; "" for those
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] | None = None  # of `tare run`


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("glibc", ""),
        Subject("tare 512K", "glibc", options=("--sample", "512K")),
        Subject("tare 4M", "glibc", options=("--sample", "4M")),
        Subject("heaptrack", "glibc", {"LD_PRELOAD": str(HEAPTRACK_PRELOAD)}),
        Subject("jemalloc", "", {"LD_PRELOAD": JEMALLOC}),
        Subject(
            "jemalloc prof",
            "jemalloc",
            {"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "prof:true"},
        ),
        Subject("tcmalloc", "", {"LD_PRELOAD": TCMALLOC, "TCMALLOC_SAMPLE_PARAMETER": "0"}),
        Subject(
            "tcmalloc sampler",
            "tcmalloc",
            {"LD_PRELOAD": TCMALLOC, "TCMALLOC_SAMPLE_PARAMETER": str(DISTANCE)},
        ),
    )
}
PROFILERS = [subject for subject in SUBJECTS.values() if subject.base]


def run(subject: Subject, case: Case, folder: Path) -> Usage:
    usage = folder / "program.json"
    variables = {**case.environment, **subject.environment}
    if subject.name == "heaptrack":
        variables["DUMP_HEAPTRACK_OUTPUT"] = str(folder / "raw")
    settings = [f"{name}={value}" for name, value in variables.items()]
    program: list[str | Path] = [RUSAGE_OF, usage, "env", *settings, *case.command]
    if subject.options is None:
        measure(program, folder)
    else:
        measure([TARE, "run", "-q", *subject.options, "-o", folder / "out.tare", "--", *program], folder)
    return read_usage(usage)


def row_of(results: Results, subject: Subject, case: str) -> list[str]:
    added = results.samples[case, subject.name, "added_cpu"]
    low, _, high = statistics.quantiles(added, n=4)
    rss = results.median(case, subject.name, "added_rss") or 0
    return [f"{statistics.median(added):+.1%} ({low:+.1%} to {high:+.1%})", f"{rss / (1 << 20):+.1f} MiB"]


def main() -> None:
    runs, names = rounds_and_cases(__doc__, ["cc1plus", "git", "sqlite"])
    results = Results("sampled_programs")
    chance = random.Random(22)
    for name in names:
        case = CASES[name]()
        for _ in range(runs):
            order = list(SUBJECTS.values())
            chance.shuffle(order)
            seen: dict[str, Usage] = {}
            for subject in order:
                with tempfile.TemporaryDirectory() as folder:
                    seen[subject.name] = run(subject, case, Path(folder))
            for subject in SUBJECTS.values():
                usage = seen[subject.name]
                results.add(name, subject.name, "cpu", usage.cpu_seconds, "s")
                results.add(name, subject.name, "rss", usage.max_rss_bytes, "bytes")
                if subject.base:
                    base = seen[subject.base]
                    results.add(name, subject.name, "added_cpu", usage.cpu_seconds / base.cpu_seconds - 1, "ratio")
                    results.add(name, subject.name, "added_rss", usage.max_rss_bytes - base.max_rss_bytes, "bytes")
        print(f"{name} done", flush=True)
    heads = ["", *(f"{name}: {metric}" for name in names for metric in ("CPU", "peak RSS"))]
    rows = [
        [f"{each.name} over {each.base}", *(cell for name in names for cell in row_of(results, each, name))]
        for each in PROFILERS
    ]
    bases = ", ".join(f"{name} {results.median(name, 'glibc', 'cpu') or 0:.2f} s" for name in names)
    body = (
        f"CPU time and peak RSS of the program alone, over the same allocator without a profiler: medians of {runs} pairs, in brackets the"
        f" quartiles. With glibc and no profiler: {bases}.\n\n" + table(heads, rows)
    )
    results.publish(body)


if __name__ == "__main__":
    main()
