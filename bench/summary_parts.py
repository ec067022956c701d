"""The CPU time of `tare run` without each of the mechanisms that make its summary cheap, beside all of them.

Each round runs every variant once, in another order. A variant replaces one function of Tare by one that leaves the mechanism out.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.results import Results, table
from spine_cases import CASES

# The mechanism, and the statements that leave it out.
VARIANTS = {
    "all": ("", ""),
    "os._exit": (
        "the process ends without taking modules apart",
        "from tare import cli; cli._exit_at_once = lambda status: None",
    ),
    "SQLite": (
        "SQLite in DuckDB's place for small tables",
        "from tare.reports import run_summary; run_summary.MOST_ROWS = -1",
    ),
    "bands": (
        "sizes of a line that no finding names are joined",
        "from tare.source.core_source import CoreSource; CoreSource.in_bands = lambda self: self",
    ),
    "lines": (
        "stacks are folded by the line that names them, with SQLite and bands on top",
        "from tare.source.core_source import CoreSource; CoreSource.by_line = CoreSource.in_bands = lambda self: self",
    ),
    "fresh tables": (
        "tables pass from the launcher to the summary in memory",
        "from tare.source import core_source as c; make = c.CoreSource.__init__\n"
        "c.CoreSource.__init__ = lambda self, path, **rest: make(self, path, **{**rest, 'outcome': None})",
    ),
    "no collection": ("Python's garbage collection is off", "import gc; gc.disable = lambda: None"),
}
START = "import sys; sys.argv = ['tare', *sys.argv[1:]]\n{}\nfrom tare.cli import main; sys.exit(main())"

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


def cpu_seconds(variant: str, command: list[str], folder: Path) -> float:
    driver = START.format(VARIANTS[variant][1])
    process = subprocess.Popen(
        [sys.executable, "-c", driver, "run", "-o", str(folder / "t.tare"), "--", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    printed = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or b"peak" not in printed:
        raise RuntimeError(f"{variant}: status {process.returncode}: {printed.decode(errors='replace')[-500:]}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--case", help="only this program")
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    results = Results("summary_parts")
    chance = random.Random(16)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = {case: command for case, command in programs(folder).items() if options.case in (None, case)}
        for case, command in cases.items():
            cpu_seconds("all", command, folder)  # files into the page cache, symbols into Tare's
            for _ in range(options.runs):
                order = list(VARIANTS)
                chance.shuffle(order)
                seconds = {variant: cpu_seconds(variant, command, folder) for variant in order}
                for variant, value in seconds.items():
                    results.add(case, variant, "cpu", value, "s")
                    results.add(case, variant, "more", (value - seconds["all"]) * 1000, "ms")
            print(f"{case} done", flush=True)
    rows = []
    for variant, (meaning, _) in VARIANTS.items():
        row = [variant if variant == "all" else f"without {variant}: {meaning}"]
        for case in cases:
            if variant == "all":
                row.append(f"{1000 * (results.median(case, variant, 'cpu') or 0):.0f} ms")
            else:
                more = results.samples[case, variant, "more"]
                quarters = statistics.quantiles(more, n=4)
                row.append(f"{statistics.median(more):+.0f} ({quarters[0]:+.0f} to {quarters[2]:+.0f})")
        rows.append(row)
    body = (
        f"CPU time of `tare run` and the program, medians of {options.runs} interleaved runs; for each variant the median difference in ms"
        " and its quartiles.\n\n" + table(["", *cases], rows)
    )
    print(body)
    results.write_json()
    if not options.dry_run:
        results.write_section(body)


if __name__ == "__main__":
    main()
