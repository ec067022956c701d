"""Do predicted and proven gains come true?

Each pair of the guide: the program with the waste is recorded, the gain of its lens's first finding is predicted (the list by
worth) and proven (`tare prove`); then both programs run unrecorded, in turn. The source of the spine's programs isn't edited,
so that only the prediction stands beside the proof.

`make bench-proofs`, or `python3 bench/proofs.py --pair 08-arena --case git`; writes its part of bench/RESULTS.md unless --dry-run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.measure import ROOT
from harness.results import Results, table
from spine_cases import CASES

sys.path.insert(0, str(ROOT / "guide"))

guide: Any = importlib.import_module("measure")  # a script, not a package

TARE = str(ROOT / ".venv/bin/tare")
# Pairs whose pages name no lens, and the data that other pairs' lenses need.
LENSES = guide.LENS | {"05-duplicates": "duplicates", "06-recycling-cache": "hoards"}
OPTIONS = guide.OPTIONS | {"05-duplicates": ("--content",), "06-recycling-cache": ("--snapshots",)}
PAIRS = tuple(LENSES)
PAIR_HEADER = [
    "pair", "lens", "RSS predicted KiB", "proven", "real", "CPU predicted ms", "proven", "real", "calls proven", "real",
]  # fmt: skip
CASE_HEADER = ["program", "finding", "RSS predicted KiB", "proven", "CPU predicted ms", "proven", "calls"]


def run(*command: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, cwd=tempfile.gettempdir()
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def kib(count: float | None) -> str:
    return "-" if count is None else f"{count / 1024:,.0f}"


def ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:,.1f}"


def predicted(finding: dict[str, Any]) -> tuple[str, str]:
    peak, cpu = finding["gain_peak_bytes"], finding["gain_cpu_ns"]
    return kib(None if peak is None else -peak), ms(None if cpu is None else -cpu / 1e9)


def summed(findings: list[dict[str, Any]]) -> dict[str, Any]:
    """The gains of several findings of one lens, which share no block."""
    found = {}
    for name in ("gain_peak_bytes", "gain_cpu_ns"):
        known = [each[name] for each in findings if each[name] is not None]
        found[name] = sum(known) if known else None
    return found


def calls_of(trace: Path) -> float:
    (row,) = json.loads(
        run(TARE, "sql", str(trace), "select alloc_events + free_events + realloc_events as n from process", "--json")
    )
    return float(row["n"])


def pair_row(pair: str, folder: Path, runs: int) -> list[str]:
    lens, environment = LENSES[pair], guide.ENVIRONMENT.get(pair)
    programs = [str(guide.BUILD / "guide" / pair / version) for version in ("before", "after")]
    traces = [folder / f"{version}.tare" for version in ("before", "after")]
    for program, trace, options in zip(programs, traces, (OPTIONS.get(pair, ()), ()), strict=True):
        run(TARE, "run", "-q", *options, "-o", str(trace), "--", program, environment=environment)
    told = json.loads(run(TARE, "prove", str(traces[0]), "--lens", lens, "--json", "--runs", str(runs)))
    compared = json.loads(
        run(TARE, "compare", "--no-record", "--json", "--runs", str(runs), "--", programs[0], "--", programs[1], environment=environment)
    )  # fmt: skip
    real = {each["metric"]: each["after"] - each["before"] for each in compared["ratios"]}
    end = [kib(real["rss"]), ms(real["cpu"]), f"{calls_of(traces[1]) - calls_of(traces[0]):,.0f}"]
    if not told["findings"]:
        return [pair, lens, "no finding", "-", end[0], "-", "-", end[1], "-", end[2]]
    # All findings of the lens: the other program has all remedies.
    proof = told["together"] or told["findings"][0]["proof"]
    peak, cpu = predicted(summed(told["findings"]))
    if proof is None:
        return [pair, lens, peak, "not performed", end[0], cpu, "-", end[1], "-", end[2]]
    return [
        pair, lens, peak, kib(proof["peak_rss_bytes"]["change"]), end[0], cpu, ms(proof["cpu_s"]["change"]), end[1],
        f"{proof['calls']['change']:,}", end[2],
    ]  # fmt: skip


def case_rows(name: str, folder: Path, runs: int) -> list[list[str]]:
    case, trace = CASES[name](), folder / "case.tare"
    run(TARE, "run", "-q", "-o", str(trace), "--", *case.command, environment=case.environment)
    told = json.loads(run(TARE, "prove", str(trace), "--json", "--runs", str(runs)))
    rows = []
    for finding in told["findings"]:
        proof = finding["proof"]
        what = f"{finding['number']} {finding['lens']} {finding['function']}".replace("|", "\\|")
        if proof is None:
            rows.append([name, what, predicted(finding)[0], "not performed", predicted(finding)[1], "-", "-"])
            continue
        peak, cpu = predicted(finding)
        rows.append(
            [name, what, peak, kib(proof["peak_rss_bytes"]["change"]), cpu, ms(proof["cpu_s"]["change"]), f"{proof['calls']['change']:,}"]
        )  # fmt: skip
    if told["together"]:
        proof = told["together"]
        rows.append(
            [
                name,
                "together",
                "",
                kib(proof["peak_rss_bytes"]["change"]),
                "",
                ms(proof["cpu_s"]["change"]),
                f"{proof['calls']['change']:,}",
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pair", action="append", choices=PAIRS, help="only these pairs of the guide")
    parser.add_argument(
        "--case", action="append", choices=[*CASES, "none"], help="only these programs; none: only pairs"
    )
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    guide.build()
    rows, cases = [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in options.pair or PAIRS:
            print(pair, file=sys.stderr, flush=True)
            rows.append(pair_row(pair, Path(folder), options.runs))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        for name in options.case or CASES:
            if name == "none" or (name == "stress" and not options.case):  # it has no waste to prove
                continue
            print(name, file=sys.stderr, flush=True)
            cases += case_rows(name, Path(folder), options.runs)
    body = (
        "Gains of the guide's remedies: predicted from the recording with the waste, proven by performing its calls with the remedy, and real:\n"
        "the difference of the two programs, run without a recorder. The programs also differ by what isn't a call: CPU of copies and searches.\n\n"
        + table(PAIR_HEADER, rows)
    )
    if cases:
        body += "\nFirst findings of programs whose source nobody has edited: predicted and proven.\n\n" + table(
            CASE_HEADER, cases
        )
    print(body)
    if not options.dry_run:
        Results("proofs").write_section(body)


if __name__ == "__main__":
    main()
