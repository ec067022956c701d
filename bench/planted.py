"""Recall and precision of the list "do first": programs with one planted waste each, and programs without any.

Each program prints the truth: bytes of the peak, or calls, that its remedy saves. Compiled with -DFIXED it has the remedy, which gives the
measured gain of the unrecorded program. A program with waste passes if the first entry names its lens and the predicted bytes are
within 10 % of the truth; for calls, if the predicted CPU time is within a factor of two of the measured one. A program without waste
passes if the list is empty. Misses stay in the table.

`make bench-planted`, or `python3 bench/planted.py --case leaks`; writes its part of bench/RESULTS.md unless --dry-run or --case.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from harness.measure import ROOT
from harness.results import Results, table

SOURCES = ROOT / "bench/workloads/planted"
TARE = os.environ.get("TARE") or str(ROOT / ".venv/bin/tare")
NEAR = 0.1
CPU_FACTOR = 2.0


class Case(NamedTuple):
    name: str
    lens: str  # none: no waste
    options: list[str]
    calls: bool  # the truth is calls, judged by CPU time


class Run(NamedTuple):
    cpu_s: float
    peak_bytes: int
    truth: int


def cases() -> list[Case]:
    found = []
    for path in sorted(SOURCES.glob("*.cc")):
        lines = itertools.takewhile(lambda line: line.startswith("//"), path.read_text().splitlines())
        head = " ".join(line.removeprefix("//").strip() for line in lines)
        facts = re.search(r"lens: ([a-z-]+); record: ([a-z-]+)", head)
        assert facts, f"{path}: the first comment names no lens"
        options = [] if facts[2] == "plain" else [facts[2]]
        found.append(Case(path.stem, facts[1], options, head.endswith("calls")))
    return found


def build(case: Case, folder: Path, *flags: str) -> Path:
    program = folder / (case.name + "".join(flags))
    command = ["c++", "-std=c++20", "-O2", "-g", *flags, "-o", program, SOURCES / f"{case.name}.cc"]
    subprocess.run([str(word) for word in command], check=True)
    return program


def one_run(program: Path) -> Run:
    """Of the unrecorded program."""
    reading, writing = os.pipe()
    pid = os.posix_spawn(program, [str(program)], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)])
    os.close(writing)
    with os.fdopen(reading) as output:
        truth, peak_kib = map(int, output.read().split())
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, f"{program} failed"
    return Run(usage.ru_utime + usage.ru_stime, peak_kib * 1024, truth)


def measured(plain: Path, fixed: Path, runs: int) -> tuple[Run, Run]:
    """Medians of runs in turn: a drift of the machine hits both programs alike."""
    pairs = [(one_run(plain), one_run(fixed)) for _ in range(runs)]
    before, after = (
        Run(median(run.cpu_s for run in of), round(median(run.peak_bytes for run in of)), of[0].truth) for of in zip(*pairs, strict=True)
    )  # fmt: skip
    return before, after


def first_entries(case: Case, program: Path, folder: Path) -> list[dict[str, Any]]:
    trace = folder / f"{case.name}.tare"
    subprocess.run(
        [TARE, "run", "-q", "-o", trace, *case.options, "--", program], check=True, stdout=subprocess.DEVNULL
    )
    report = subprocess.run([TARE, "report", trace, "--json"], check=True, capture_output=True, text=True)
    entries: list[dict[str, Any]] = json.loads(report.stdout)["do_first"]["list"]
    return entries


def judge(case: Case, folder: Path, runs: int) -> tuple[list[str], bool]:
    """A row of the table, and True if the program passed."""
    plain = build(case, folder)
    entries = first_entries(case, plain, folder)
    listed = ", ".join("+".join(entry["lenses"]) for entry in entries) or "empty"
    if case.lens == "none":
        return [case.name, "", listed, "", "", "", "", "yes" if not entries else "**no**"], not entries
    before, after = measured(plain, build(case, folder, "-DFIXED"), runs)
    predicted = entries[0] if entries and case.lens in entries[0]["lenses"] else {}
    peak, cpu = predicted.get("gain_peak_bytes") or 0, (predicted.get("gain_cpu_ns") or 0) / 1e6
    real_peak, real_cpu = before.peak_bytes - after.peak_bytes, (before.cpu_s - after.cpu_s) * 1e3
    if case.calls:
        passed = bool(predicted) and 1 / CPU_FACTOR <= cpu / max(real_cpu, 1e-9) <= CPU_FACTOR
        amounts = [f"{before.truth:,} calls", f"{cpu:.1f} ms", f"{real_cpu:.1f} ms"]
    else:
        passed = bool(predicted) and abs(peak - before.truth) <= NEAR * before.truth
        amounts = [f"{before.truth:,} B", f"{peak:,} B", f"{real_peak:,} B"]
    share = f"{100 * before.truth / before.peak_bytes:.1f} %" if not case.calls else ""
    return [case.name, case.lens, listed, share, *amounts, "yes" if passed else "**no**"], passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="unrecorded runs of each program")
    parser.add_argument("--case", action="append", default=[], help="only this program; repeatable")
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    rows, passed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if not options.case or case.name in options.case:
                row, good = judge(case, Path(folder), options.runs)
                print(" | ".join(row), flush=True)
                rows.append(row)
                passed.append((case.lens != "none", good))
    heads = ["program", "waste", "list", "of the peak", "truth", "predicted", "measured (RSS or CPU)", "passed"]
    found = sum(good for waste, good in passed if waste)
    silent = sum(good for waste, good in passed if not waste)
    body = (
        f"{found} of {sum(waste for waste, _ in passed)} planted wastes first with the right amount; "
        f"{silent} of {sum(not waste for waste, _ in passed)} programs without waste have an empty list.\n\n"
        + table(heads, rows)
    )
    print(body)
    if not options.dry_run and not options.case:
        Results("planted").write_section(body)


if __name__ == "__main__":
    main()
