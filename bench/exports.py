"""CPU time and peak RSS of `tare export`, for every format, on recordings of the spine's programs and on one of 100 million events.

Each export is a process of its own and reads the trace itself: tables and symbols that were kept from the export before are deleted. Where a
format writes tables instead of stacks, its stacks a second count the same recording.

`make bench-exports`, or `BENCH_ARGS="--runs 3 --case cc1plus --format pprof"`; writes a part of bench/RESULTS.md a case, unless --dry-run. `--small` shows in
seconds that each format is exported: the recording is of a short program, and nothing is written.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from harness.measure import BUILD, measure
from harness.results import Results, table
from spine_cases import CASES, Case

SMALL = "small"
MANY_EVENTS = "100 million events"
CALLS = 50_000_000  # of each of the two threads of bench-stress
EVENTS_S = 5e6
STACKS_S = 100_000
MOST_RSS = 1 << 30
HEADS = ["format", "CPU s", "M events/s", "1,000 stacks/s", "RSS MiB", "file MB"]
FACTS = (
    "select total_blocks + freed_blocks as events,"
    " (select count(distinct stack_id) from site_sizes) as stacks from (select cast(sum(total_blocks) as bigint) as total_blocks,"
    " cast(sum(total_blocks - end_blocks) as bigint) as freed_blocks from site_sizes)"
)


class Recorded(NamedTuple):
    trace: Path
    events: int
    stacks: int


def record(tare: str, case: Case, folder: Path, made: Path | None) -> Recorded:
    trace = made or folder / "bench.tare"
    if made is None:
        measure([tare, "run", "-o", trace, "--", *case.command], folder, case.environment)
    text = subprocess.run([tare, "sql", trace, FACTS, "--json"], capture_output=True, text=True, check=True).stdout
    (facts,) = json.loads(text)
    return Recorded(trace, int(facts["events"]), int(facts["stacks"]))


def forget(trace: Path) -> None:
    shutil.rmtree(trace.with_name(f".{trace.name}.cache"), ignore_errors=True)


def export(tare: str, recorded: Recorded, name: str, folder: Path, results: Results, case: str) -> None:
    out = folder / "exported"
    forget(recorded.trace)
    usage = measure([tare, "export", recorded.trace, "--to", name, "-o", out], folder)
    if out.is_dir():
        size = sum(each.stat().st_size for each in out.iterdir())
        shutil.rmtree(out)
    else:
        size = out.stat().st_size
        out.unlink()
    results.add(case, name, "cpu", usage.cpu_seconds)
    results.add(case, name, "rss", usage.max_rss_bytes)
    results.add(case, name, "bytes", size)


def row(results: Results, case: str, name: str, recorded: Recorded) -> list[str]:
    cpu, rss, size = (results.median(case, name, metric) or 0.0 for metric in ("cpu", "rss", "bytes"))
    events, stacks = recorded.events / cpu, recorded.stacks / cpu
    results.add(case, name, "events_per_second", events, "1/s")
    results.add(case, name, "stacks_per_second", stacks, "1/s")
    is_slow = case != SMALL and events < EVENTS_S and stacks < STACKS_S  # there, the start of the process is all
    return [
        name,
        f"{cpu:.2f}" + " **missed**" * is_slow,
        f"{events / 1e6:.2f}",
        f"{stacks / 1e3:.1f}",
        f"{rss / 2**20:.0f}" + " **missed**" * (rss >= MOST_RSS),
        f"{size / 1e6:.1f}",
    ]


def small() -> Case:
    loop = "for i in {1..2000}; do a[i]=$i$i; done"
    return Case(SMALL, "bash fills an array", ["bash", "-c", loop])


def section_of(case: str) -> str:
    """A part of RESULTS.md a case, so that each can be measured anew alone: the longest takes an hour."""
    return f"exports-{case.replace(' ', '-')}"


def body_of(recorded: Recorded, runs: int, rows: list[list[str]]) -> str:
    how = "one run of each" if runs == 1 else f"medians of {runs} interleaved runs"
    return (
        f"{recorded.events / 1e6:.1f} M events, {recorded.stacks:,} stacks. Exports from the trace alone, {how}. CPU time is of the whole process, from"
        f" its start; it is missed below both {EVENTS_S / 1e6:.0f} M events and {STACKS_S:,} stacks a second. RSS is missed from 1 GiB on.\n\n"
        + table(HEADS, rows)
    )


def note_other_work(results: Results) -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        results.remark(f"the machine had other work (load {load:.1f} on {cores} cores), which shared its caches")


def main() -> None:
    from tare.exports import FORMATS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", action="append", choices=[*CASES, MANY_EVENTS], help="only this program; repeatable")
    parser.add_argument("--format", action="append", choices=FORMATS, help="only this format; repeatable")
    parser.add_argument(
        "--many", type=Path, metavar="FILE", help=f"the recording of {MANY_EVENTS}, if it was made before"
    )
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    parser.add_argument(
        "--small", action="store_true", help="one run of a short program; bench/RESULTS.md stays as it is"
    )
    options = parser.parse_args()
    tare = str(Path(sys.executable).with_name("tare"))
    names = options.format or list(FORMATS)
    has_arrow = importlib.util.find_spec("pyarrow") is not None
    if not has_arrow:
        names = [name for name in names if name != "arrow"]
    many = Case(MANY_EVENTS, "bench-stress, longer", [str(BUILD / "bench-stress"), str(CALLS)])
    for case_name in [SMALL] if options.small else options.case or [*CASES, MANY_EVENTS]:
        results = Results(section_of(case_name))
        note_other_work(results)
        if not has_arrow:
            results.remark("arrow is left out: pyarrow isn't installed")
        case = {MANY_EVENTS: lambda: many, SMALL: small, **CASES}[case_name]()
        runs = 1 if case is many or options.small else options.runs
        with TemporaryDirectory() as place:
            folder = Path(place)
            recorded = record(tare, case, folder, options.many if case is many else None)
            for _ in range(runs):
                for name in random.sample(names, len(names)):
                    export(tare, recorded, name, folder, results, case_name)
                    print(
                        f"{case_name}: {name} {results.median(case_name, name, 'cpu'):.2f} s",
                        file=sys.stderr,
                        flush=True,
                    )
            rows = [row(results, case_name, name, recorded) for name in names]
        print(table(HEADS, rows), flush=True)
        if options.small:
            continue
        results.write_json()
        if not options.dry_run:
            results.write_section(body_of(recorded, runs, rows))


if __name__ == "__main__":
    main()
