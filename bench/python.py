"""Python programs under Tare and under memray with native stacks and pymalloc's blocks: CPU added, and sums of planted sites.

Both record each block of all of CPython's allocators with the Python and native frames that made it. Every round runs all
subjects of a program one after the other; medians count. Tare's CPU is that of all processes, its summary included.
`.venv/bin/python bench/python.py [--runs 5] [--case events]`
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.arguments import rounds_and_cases
from harness.measure import ROOT, measure
from harness.results import Results, table
from spine_cases import DEBIAN_PYTHON
from spine_subjects import MEMRAY_VENV, TARE, install_memray

SCRATCH = ROOT / "build/bench-python"
WORKLOADS = ROOT / "bench/workloads"
PLANTED = ROOT / "tests/end_to_end/python_programs/planted.py"
CASES = {
    "json": WORKLOADS / "json_dicts.py",
    "events": WORKLOADS / "python/events.py",
    "text": WORKLOADS / "python/text.py",
    "rays": WORKLOADS / "python/rays.py",
}
TARGET = 0.25  # of the CPU that memray adds
MOST_DIFFERENCE = 0.01  # of a site's bytes
MEMRAY_SUMS = """
import collections, json, sys
import memray
sums = collections.Counter()
for record in memray.FileReader(sys.argv[1]).get_leaked_allocation_records(merge_threads=True):
    for function, file, line in record.stack_trace(1):
        if file.endswith("planted.py"):
            sums[line] += record.size
print(json.dumps(sums))
"""
TARE_SUMS = (
    "select f.line, sum(s.end_blocks * s.requested_bytes) as bytes from site_sizes s"
    " join stack_sites using (stack_id) join sites on sites.site_id = stack_sites.site_id"
    " join frames f on f.location_id = sites.site_location_id where f.file like '%planted.py' group by f.line"
)
Command = list[str | Path]


def recorded_by_tare(trace: Path, script: Path) -> Command:
    return [TARE, "run", "-o", trace, "--", DEBIAN_PYTHON, script]


def recorded_by_memray(out: Path, script: Path) -> Command:
    python = MEMRAY_VENV / "bin/python"
    return [python, "-m", "memray", "run", "--native", "--trace-python-allocators", "--force", "-o", out, script]


def fresh(name: str) -> Path:
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def bench_case(results: Results, case: str, script: Path, runs: int) -> None:
    for number in range(runs):
        for subject in ("native", "tare", "memray"):
            folder = fresh(f"{case}-{subject}")
            out = folder / "out.tare"
            commands: dict[str, Command] = {
                "native": [DEBIAN_PYTHON, script],
                "tare": recorded_by_tare(out, script),
                "memray": recorded_by_memray(out, script),
            }
            usage = measure(commands[subject], folder)
            results.add(case, subject, "cpu", usage.cpu_seconds)
            if subject != "native":
                results.add(case, subject, "bytes", sum(file.stat().st_size for file in folder.glob("out.tare*")))
            print(f"{case} {number + 1}/{runs} {subject}: {usage.cpu_seconds:.2f} s", flush=True)
    report = subprocess.run(
        [TARE, "report", SCRATCH / f"{case}-tare/out.tare", "--json"], stdout=subprocess.PIPE, check=True
    ).stdout
    results.add(case, "tare", "count", json.loads(report)["events"])


def costs(results: Results, cases: list[str]) -> str:
    rows = []
    for case in cases:
        native, tare, memray = (results.median(case, subject, "cpu") or 0 for subject in ("native", "tare", "memray"))
        events = results.median(case, "tare", "count") or 1
        ratio = (tare - native) / (memray - native)
        rows.append(
            [
                case,
                f"{events / 1e6:.2f}",
                f"{native:.2f}",
                f"{tare - native:.2f}",
                f"{(tare - native) / events * 1e9:.0f}",
                f"{memray - native:.2f}",
                f"{ratio:.2f}" + ("" if ratio <= TARGET else " **missed**"),
                f"{(results.median(case, 'tare', 'bytes') or 0) / 1e6:.1f}",
                f"{(results.median(case, 'memray', 'bytes') or 0) / 1e6:.1f}",
            ]
        )
    header = ["program", "M events", "native CPU s", "tare adds s", "ns an event", "memray adds s",
              f"tare of memray (target {TARGET})", "tare MB", "memray MB"]  # fmt: skip
    return table(header, rows)


def planted_sums() -> str:
    """The twenty planted lines as tracemalloc, memray and Tare see them."""
    folder = fresh("planted")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    traced = subprocess.run(
        [DEBIAN_PYTHON, PLANTED, "tracemalloc"], stdout=subprocess.PIPE, check=True, env=environment
    ).stdout
    for command in (recorded_by_tare(folder / "p.tare", PLANTED), recorded_by_memray(folder / "p.bin", PLANTED)):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment)
    queried = subprocess.run(
        [TARE, "sql", folder / "p.tare", TARE_SUMS, "--json"], stdout=subprocess.PIPE, check=True
    ).stdout
    read = subprocess.run(
        [MEMRAY_VENV / "bin/python", "-c", MEMRAY_SUMS, folder / "p.bin"], stdout=subprocess.PIPE, check=True
    ).stdout
    ours = {row["line"]: row["bytes"] for row in json.loads(queried)}
    memrays, tracemallocs = ({int(line): size for line, size in json.loads(text).items()} for text in (read, traced))
    rows = []
    for line, text in enumerate(PLANTED.read_text().splitlines(), 1):
        if "# site " not in text:
            continue
        seen = [sums.get(line, 0) for sums in (tracemallocs, memrays, ours)]
        apart = max(abs(seen[2] - other) / max(other, 1) for other in seen[:2])
        verdict = f"{apart:.2%}" + ("" if apart <= MOST_DIFFERENCE else " **apart**")
        rows.append([f"`{text.partition('#')[0].strip()}`", *(f"{size:,.0f}" for size in seen), verdict])
    return table(["line", "tracemalloc", "memray", "tare", "difference"], rows)


def main() -> int:
    runs, chosen = rounds_and_cases(__doc__, CASES, "program")
    install_memray()
    results = Results("python")
    for case in chosen:
        bench_case(results, case, CASES[case], runs)
    body = (
        f"CPU seconds that recording adds, medians of {runs} runs of Debian's Python 3.11 with its own allocator:\n\n"
        f"{costs(results, chosen)}\nBytes that live at the end, by the planted line that made them:\n\n{planted_sums()}"
    )
    print(body)
    print(results.write_json())
    if len(chosen) == len(CASES):
        print(results.write_section(body))
    shutil.rmtree(SCRATCH, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
