"""The CPU time of a run's summary without each of the mechanisms that make it cheap, beside all of them.

Each round runs every variant once, in another order. A variant replaces one function of Tare by one that leaves the mechanism out.
Mechanisms of the summary itself are timed on a finished recording, in a fresh process: the CPU time of a program varies by more
than its whole summary costs. Mechanisms before and after the summary are timed as whole runs.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.results import Results, table
from spine_cases import CASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The mechanism: its meaning, and the statements that leave it out.
SUMMARY_VARIANTS = {
    "all": ("", ""),
    "SQLite": ("SQLite in DuckDB's place for small tables", "quick_recording.MOST_ROWS = -1"),
    "bands": ("sizes of a line that no finding names are joined", "CoreSource.in_bands = lambda self: self"),
    "lines": (
        "stacks are folded by the line that names them, with SQLite and bands on top",
        "CoreSource.by_line = CoreSource.in_bands = lambda self: self",
    ),
}
RUN_VARIANTS = {
    "all": ("", ""),
    "os._exit": (
        "the process ends without taking modules apart",
        "from tare import cli; cli._exit_at_once = lambda status: None",
    ),
    "fresh tables": (
        "tables pass from the launcher to the summary in memory",
        "from tare.source import core_source as c; make = c.CoreSource.__init__\n"
        "c.CoreSource.__init__ = lambda self, path, **rest: make(self, path, **{**rest, 'outcome': None})",
    ),
    "no collection": ("Python's garbage collection is off", "import gc; gc.disable = lambda: None"),
}
RUN = "import sys; sys.argv = ['tare', *sys.argv[1:]]\n{}\nfrom tare.cli import main; sys.exit(main())"
SUMMARY = """\
import gc, os, sys, time
from tare.analysis import quick_recording
from tare.reports import run_summary
from tare.source.core_source import CoreSource
from tare.text.terminal import Style
gc.disable()
{}
begin = time.process_time()
source = CoreSource(sys.argv[1])
lines = run_summary.lines(source, [run_summary.Image(sys.argv[1], "program", 1, 1, 1)], Style(sys.stdout), 100)
end = time.process_time()
assert any("peak" in line for line in lines)
print(end - begin, flush=True)
os._exit(0)
"""

MANY_LINES = "import json, decimal, email.parser, argparse, html.parser; kept = json.loads(json.dumps([[str(n), n] for n in range(30000)]))"


def programs(folder: Path) -> dict[str, list[str]]:
    """From a few kinds of blocks to thousands."""
    source = folder / "unit.cc"
    source.write_text("#include <map>\n#include <regex>\n#include <string>\nstd::map<std::string, std::regex> all;\n")
    compiler = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return {
        "ls": ["ls", "/usr/bin"],
        "python": [sys.executable, "-X", "pycache_prefix=/nonexistent", "-c", MANY_LINES],
        "cc1plus": [
            compiler,
            "-quiet",
            "-imultiarch",
            "x86_64-linux-gnu",
            "-D_GNU_SOURCE",
            "-O1",
            "-std=c++20",
            str(source),
            "-o",
            os.devnull,
        ],
        "git": [*map(str, CASES["git"]().command)],
    }


def run_seconds(statements: str, command: list[str], trace: Path) -> float:
    """CPU time of a whole run, the program's included."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.format(statements), "run", "-o", str(trace), "--", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    printed = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or b"peak" not in printed:
        raise RuntimeError(f"{statements}: status {process.returncode}: {printed.decode(errors='replace')[-500:]}")
    return usage.ru_utime + usage.ru_stime


def summary_seconds(statements: str, trace: Path) -> float:
    """CPU time of the summary of a finished recording, from opening it to the last line."""
    done = subprocess.run(
        [sys.executable, "-c", SUMMARY.format(statements), str(trace)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measure(
    results: Results,
    part: str,
    case: str,
    variants: dict[str, tuple[str, str]],
    runs: int,
    seconds: Callable[[str], float],
) -> None:
    """Interleaved rounds of all variants, after one that fills the page cache and Tare's cache of symbols."""
    chance = random.Random(16)
    seconds("")
    for _ in range(runs):
        order = list(variants)
        chance.shuffle(order)
        taken = {variant: seconds(variants[variant][1]) for variant in order}
        for variant, value in taken.items():
            results.add(f"{part}: {case}", variant, "cpu", value, "s")
            results.add(f"{part}: {case}", variant, "more", (value - taken["all"]) * 1000, "ms")
    print(f"{part}: {case} done", flush=True)


def rows_of(results: Results, part: str, cases: Iterable[str], variants: dict[str, tuple[str, str]]) -> str:
    rows = []
    for variant, (meaning, _) in variants.items():
        row = [variant if variant == "all" else f"without {variant}: {meaning}"]
        for case in cases:
            if variant == "all":
                row.append(f"{1000 * (results.median(f'{part}: {case}', variant, 'cpu') or 0):.0f} ms")
            else:
                more = results.samples[f"{part}: {case}", variant, "more"]
                quarters = statistics.quantiles(more, n=4)
                row.append(f"{statistics.median(more):+.0f} ({quarters[0]:+.0f} to {quarters[2]:+.0f})")
        rows.append(row)
    return table([part, *cases], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--case", help="only this program")
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    results = Results("summary_parts")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "t.tare"
        cases = {case: command for case, command in programs(folder).items() if options.case in (None, case)}
        for case, command in cases.items():
            run_seconds("", command, trace)
            measure(results, "summary", case, SUMMARY_VARIANTS, options.runs, partial(summary_seconds, trace=trace))
            measure(
                results, "run", case, RUN_VARIANTS, options.runs, partial(run_seconds, command=command, trace=trace)
            )
    body = (
        f"CPU time, medians of {options.runs} interleaved runs; for each variant the median difference in ms and its"
        " quartiles. First the summary of a finished recording, then `tare run` with the program.\n\n"
        + rows_of(results, "summary", cases, SUMMARY_VARIANTS)
        + "\n"
        + rows_of(results, "run", cases, RUN_VARIANTS)
    )
    results.publish(body, whole=not options.dry_run)


if __name__ == "__main__":
    main()
