"""Compares the predictions of `tare replay` with real programs under other allocators.

Each of the spine's programs is recorded once, under the C library's malloc, and its calls are performed under every allocator,
as fast as can be and in the time that the program takes unrecorded; then the program itself runs under each, unrecorded.
Compared: peak RSS, predicted and real, and the order of the allocators. Two allocators are a tie where the ranges of the real
runs overlap, or lie within 2 % of each other: then either order is right.

`make bench-allocators`, or `python3 bench/allocators.py --runs 3 --case git`; writes its part of bench/RESULTS.md unless --dry-run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from harness.measure import ROOT, measure
from harness.results import Results, table
from spine_cases import CASES, Case

TIE = 0.02
LIMIT = 0.10
# How `tare replay` performs. In time because jemalloc and mimalloc give memory back by the clock.
IN_TIME = "in time"
PACES = ("at once", IN_TIME)
HEADER = [
    "case",
    "allocator",
    "heap MB",
    "real MB",
    "runs",
    "at once MB",
    "error",
    "in time MB",
    "error",
    "rank",
    "foretold",
    "CPU of calls s",
    "CPU of program s",
]


class Row(NamedTuple):
    """A program under an allocator; in MB."""

    case: str
    allocator: str
    heap: float  # performed in time
    real: list[float]  # peaks of its runs
    foretold: dict[str, float]  # by pace
    calls_cpu_s: float
    program_cpu_s: float

    @property
    def peak(self) -> float:
        return median(self.real)

    def error(self, pace: str) -> float:
        return self.foretold[pace] / self.peak - 1


def foretell(tare: str, case: Case, folder: Path, runs: int) -> dict[str, dict[str, Any]]:
    """The output of `tare replay --json`, by pace."""
    trace = folder / "out.tare"
    own = measure([*case.command], folder, case.environment)
    own_s = min(own.wall_seconds, own.cpu_seconds)  # its waits on a busy machine aren't its own time
    measure([tare, "run", "-o", trace, "--", *case.command], folder, case.environment)
    told: dict[str, dict[str, Any]] = {}
    for pace in PACES:
        # Recording slows a program down; the allocators' wall times are as without a recorder.
        speed = f"{told['at once']['duration_ns'] / 1e9 / own_s}" if pace == IN_TIME else "0"
        command = [tare, "replay", str(trace), "--runs", str(runs), "--json", "--speed", speed]
        told[pace] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    trace.unlink()
    return told


def measure_case(tare: str, case: Case, folder: Path, runs: int) -> list[Row]:
    told = foretell(tare, case, folder, runs)
    performed = {pace: {each["name"]: each for each in told[pace]["allocators"]} for pace in PACES}
    rows = []
    for name, at_once in performed["at once"].items():
        environment = {**case.environment, **({} if name == "glibc" else {"LD_PRELOAD": at_once["library"]})}
        usages = [measure([*case.command], folder, environment) for _ in range(runs)]
        rows.append(
            Row(
                case.name,
                name,
                performed[IN_TIME][name]["peak_heap_rss_bytes"] / 1e6,
                [usage.max_rss_bytes / 1e6 for usage in usages],
                {pace: performed[pace][name]["predicted_peak_rss_bytes"] / 1e6 for pace in PACES},
                at_once["cpu_s"],
                median(usage.cpu_seconds for usage in usages),
            )
        )
        print(f"{case.name} {name}: {rows[-1].peak:.1f} MB, foretold {rows[-1].foretold}", flush=True)
    return sorted(rows, key=lambda row: row.peak)


def is_tie(a: Row, b: Row) -> bool:
    overlap = min(max(a.real), max(b.real)) >= max(min(a.real), min(b.real))
    return overlap or abs(a.peak - b.peak) <= TIE * min(a.peak, b.peak)


def ranked_otherwise(rows: list[Row], pace: str) -> list[str]:
    """Pairs that are no ties in the real runs, and foretold the other way round."""
    return [
        f"{a.allocator} and {b.allocator}"
        for a, b in combinations(rows, 2)
        if not is_tie(a, b) and (a.peak < b.peak) != (a.foretold[pace] < b.foretold[pace])
    ]


def cells(row: Row, of_case: list[Row]) -> list[str]:
    shown = [row.case, row.allocator, f"{row.heap:.1f}", f"{row.peak:.1f}"]
    shown.append(f"{min(row.real):.1f} to {max(row.real):.1f}")
    for pace in PACES:
        is_missed = pace == IN_TIME and abs(row.error(pace)) > LIMIT
        shown += [f"{row.foretold[pace]:.1f}", f"{100 * row.error(pace):+.1f} %" + " **missed**" * is_missed]
    foretold = sorted(of_case, key=lambda each: each.foretold[IN_TIME])
    shown += [str(of_case.index(row) + 1), str(foretold.index(row) + 1)]
    return [*shown, f"{row.calls_cpu_s:.2f}", f"{row.program_cpu_s:.2f}"]


def section(results: Results, by_case: dict[str, list[Row]], runs: int) -> str:
    for name, rows in by_case.items():
        for pace in PACES:
            if pairs := ranked_otherwise(rows, pace):
                missed = " (**missed**)" if pace == IN_TIME else ""
                results.remark(f"{name}, {pace}: ranked otherwise than the real runs{missed}: {', '.join(pairs)}")
    worst = {pace: max(abs(row.error(pace)) for rows in by_case.values() for row in rows) for pace in PACES}
    return (
        "Peak RSS of programs under allocators: of real runs, and foretold from one recording under glibc by performing its calls,\n"
        f"as fast as can be (*at once*) and as fast as the program runs without recording (*in time*); medians of {runs} runs, and the range of the\n"
        "real ones. Target: within 10 % in time, and the same order; two allocators are a tie where their real runs overlap or\n"
        "lie within 2 %. CPU of calls is that of performing them at once, CPU of the program that of the real run.\n\n"
        + table(HEADER, [cells(row, rows) for rows in by_case.values() for row in rows])
        + "\nFurthest: "
        + ", ".join(f"{100 * error:.1f} % {pace}" for pace, error in worst.items())
        + ".\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", action="append", choices=CASES, help="only these")
    parser.add_argument("--jobs", type=int, default=1, help="cases at once: performing in time is mostly waiting")
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()

    def measured(name: str) -> list[Row]:
        case = CASES[name]()
        with TemporaryDirectory() as folder:
            return measure_case(options.tare, case, Path(folder), options.runs)

    names = options.case or list(CASES)
    with ThreadPoolExecutor(options.jobs) as pool:
        by_case = dict(zip(names, pool.map(measured, names), strict=True))
    results = Results("allocators")
    for rows in by_case.values():
        for row in rows:
            results.add(row.case, row.allocator, "rss", row.peak * 1e6)
            for pace in PACES:
                subject = f"{row.allocator}-foretold-{pace.replace(' ', '-')}"
                results.add(row.case, subject, "rss", row.foretold[pace] * 1e6)
    if missing := [name for name in CASES if name not in by_case]:
        results.remark(f"not run this time: {', '.join(missing)}")
    body = section(results, by_case, options.runs)
    print(body, *results.remarks, sep="\n")
    if not options.dry_run:
        results.write_json()
        results.write_section(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
