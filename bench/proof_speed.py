"""How long `tare prove` of one finding takes on recordings of 10 million events and more.

Each program is recorded once. Then each run removes the recording's cache, so that the tables are made again, and proves the first finding
that can be performed. CPU time is of the command and the processes that it started (getrusage).

`make bench-proof_speed`, or `python3 bench/proof_speed.py --runs 3 --case ten_million`; writes its part of bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness.measure import ROOT, cpu_s
from harness.results import Results, table
from spine_cases import CASES

TARE = str(ROOT / ".venv/bin/tare")
LIMIT_S = 30.0
MADE = "ten_million"
PROGRAMS = (MADE, "cc1plus", "python", "sqlite")  # recordings of others have fewer than 5 million events, or no waste
HEADER = ["program", "M events", "finding", "CPU s", "wall s", f"below {LIMIT_S:.0f} s"]


def command_of(case: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    if case == MADE:
        program = folder / MADE
        source = ROOT / f"bench/workloads/{MADE}.cc"
        subprocess.run(["c++", "-std=c++20", "-O2", "-g", "-pthread", "-o", program, source], check=True)
        return [str(program)], {}
    made = CASES[case]()
    return made.command, made.environment


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def performable(trace: Path) -> tuple[int, str]:
    """The number and the lens of the first finding that is performed. One run of each script suffices to know."""
    proven = json.loads(output_of(TARE, "prove", str(trace), "--json", "--runs", "1"))
    return next((each["number"], each["lens"]) for each in proven["findings"] if each["proof"] is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", action="append", choices=PROGRAMS, help="only these programs")
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    results = Results("proof_speed")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in options.case or PROGRAMS:
            trace = folder / "case.tare"
            command, environment = command_of(case, folder)
            cpu_s([TARE, "run", "-q", "-o", str(trace), "--", *command], folder, environment)
            counted = output_of(TARE, "sql", str(trace), "select alloc_events + free_events + realloc_events as n from process", "--json")  # fmt: skip
            number, lens = performable(trace)
            for _ in range(options.runs):
                shutil.rmtree(folder / ".case.tare.cache", ignore_errors=True)
                began = time.monotonic()
                results.add(case, lens, "cpu", cpu_s([TARE, "prove", str(trace), "--finding", str(number)], folder))
                results.add(case, lens, "wall", time.monotonic() - began)
            cpu, wall = (results.median(case, lens, metric) or 0.0 for metric in ("cpu", "wall"))
            rows.append(
                [case, f"{json.loads(counted)[0]['n'] / 1e6:.1f}", f"{number} {lens}", f"{cpu:.1f}", f"{wall:.1f}",
                 "yes" if wall < LIMIT_S else "no"]
            )  # fmt: skip
    body = f"`tare prove --finding N`, from a recording without a cache. Medians of {options.runs} runs.\n\n" + table(
        HEADER, rows
    )
    results.publish(body, whole=not options.dry_run and not options.case)


if __name__ == "__main__":
    main()
