"""Do predicted and proven gains come true?

Each pair of the guide: the program with the waste is recorded, the gain of its lenses' findings is predicted (the list by
worth) and proven (`tare prove`); then both programs run unrecorded, in turn. Where the pair changes more than the remedy, a second row
has the program with the remedy alone, made by a patch of `bench/remedies/`. The source of the spine's programs isn't edited, so that only
the prediction stands beside the proof.

`make bench-proofs`, or `python3 bench/proofs.py --pair 08-arena --case git`; writes its part of bench/RESULTS.md unless --dry-run.
A run of some pairs has a part of its own, so that the table of the last whole run stays.
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
from typing import Any, NamedTuple

from calibration import Expected, Real, Verdict, judged, real_of, summary
from harness.measure import ROOT
from harness.results import Results, table
from spine_cases import CASES

sys.path.insert(0, str(ROOT / "guide"))

guide: Any = importlib.import_module("measure")  # a script, not a package

TARE = str(ROOT / ".venv/bin/tare")
REMEDIES = ROOT / "bench/remedies"
# The lenses whose findings a pair's second program remedies: more than its page shows, or none that the page names.
LENSES = {pair: (lens,) for pair, lens in guide.LENS.items()} | {
    "05-duplicates": ("duplicates",),
    "06-recycling-cache": ("hoards",),
    "07-dark-matter": (),  # it reports memory and saves none
    "15-value-tree": ("churn", "twins", "recreated"),
    "17-document": ("wide-pointers", "headers", "duplicates"),
}
OPTIONS = guide.OPTIONS | {"05-duplicates": ("--content",), "06-recycling-cache": ("--snapshots",)}
PAIRS = tuple(sorted(LENSES))
PAIR_HEADER = [
    "pair", "lenses", "RSS predicted KiB", "proven", "real", "met", "calls proven", "real", "met", "CPU predicted ms", "proven", "real", "sign",
    "factor of two",
]  # fmt: skip
CASE_HEADER = ["program", "finding", "RSS predicted KiB", "proven", "CPU predicted ms", "proven", "calls"]
NOTHING = Expected(0.0, 0.0, 0.0)  # where no finding is expected
# Of misses, by row: a remark is written for a row only if it has a miss.
REASONS = {
    "01-clownshoes": "a segment that ends at the size class holds 40 bytes less, so that the program makes more segments",
    "02-just-enough-growth": "tare::Buffer grows by half, up to the size class, and the proof doubles",
    "03-eager-buffers": "tare::TextStream has 48 bytes inside, and the proof reuses blocks of 256",
    "04-twin-blocks": "an occurrence shrinks from 16 to 12 bytes, too, and the table of pointers goes",
    "05-duplicates": "the fields shrink from 32 bytes to 4, too: the objects of std::string lie in other blocks",
    "05-duplicates: remedy alone": "the fields shrink from 32 bytes to 8: the objects of std::string lie in other blocks",
    "09-unwritten": "48 bytes lie in the owner, and the proof allocates a block for them",
    "09-unwritten: remedy alone": "48 bytes lie in the owner, and the proof allocates a block for them",
    "11-hoards": "the snapshot that represents the peak is early, when the pictures are just built, so that the list doesn't promise their bytes; the pair builds "
    "pages again that the proof leaves out",
    "11-hoards: remedy alone": "the snapshot that represents the peak is early, when the pictures are just built, so that the list doesn't promise their bytes; 96 of "
    "600 pictures are shown, and the proof leaves all out",
    "14-headroom": "tare::Buffer grows by half and shrinks by realloc",
    "14-headroom: remedy alone": "shrink_to_fit() allocates, copies and frees, and the proof has the last size from the beginning",
    "15-value-tree": "the pair makes no values at all",
    "16-padding": "the pair moves half of the fields to a table for one parcel in ten, too",
    "16-padding: remedy alone": "the program runs faster outside of the allocator, too",
    "17-document": "a heap of its own and a table of texts also exchange the blocks that no finding is about",
}


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


def calls(count: float | None) -> str:
    return "-" if count is None else f"{count:,.0f}"


def predicted(found: dict[str, Any]) -> tuple[float | None, float | None]:
    """The changes of peak RSS and of CPU time that a finding promises."""
    peak, cpu = found["gain_peak_bytes"], found["gain_cpu_ns"]
    return None if peak is None else -peak, None if cpu is None else -cpu / 1e9


class Row(NamedTuple):
    name: str
    cells: list[str]
    verdict: Verdict


class Promise(NamedTuple):
    """Of the recording with the waste."""

    report: Expected  # of `tare report`; its calls are those of `tare prove`
    proof: Expected


def calls_of(trace: Path) -> float:
    (row,) = json.loads(
        run(TARE, "sql", str(trace), "select alloc_events + free_events + realloc_events as n from process", "--json")
    )
    return float(row["n"])


def promise(trace: Path, lenses: tuple[str, ...], runs: int) -> Promise:
    """Of all findings of these lenses: the other program has all remedies."""
    if not lenses:
        return Promise(NOTHING, NOTHING)
    told = json.loads(run(TARE, "prove", str(trace), "--lens", ",".join(lenses), "--json", "--runs", str(runs)))
    if not told["findings"]:
        return Promise(Expected(None, None, None), Expected(None, None, None))
    performed = next((each for each in told["findings"] if each["proof"]), told["findings"][0])
    peak, cpu = predicted(told["together"] or performed)
    proof = told["together"] or performed["proof"]
    if proof is None:
        return Promise(Expected(peak, cpu, None), Expected(None, None, None))
    proven = Expected(proof["peak_rss_bytes"]["change"], proof["cpu_s"]["change"], proof["calls"]["change"])
    return Promise(Expected(peak, cpu, proven.calls), proven)


def remedied(pair: str, folder: Path) -> Path | None:
    """The pair's first program with the remedy alone; None: its second program has no other change."""
    patch = REMEDIES / f"{pair}.patch"
    if not patch.exists():
        return None
    source, program = folder / "remedied.cc", folder / "remedied"
    run("patch", "--silent", "-o", str(source), str(ROOT / "guide" / pair / "before.cc"), str(patch))
    run("c++", "-std=c++20", "-O2", "-g", "-DNDEBUG", "-o", str(program), str(source))
    return program


def row_of(name: str, lenses: tuple[str, ...], told: Promise, real: Real) -> Row:
    verdict = judged(told.report, real)
    report, proof = told
    cells = [
        name, ", ".join(lenses) or "none", kib(report.peak_change), kib(proof.peak_change), kib(real.peak_change), verdict.rss,
        calls(proof.calls), calls(real.calls), verdict.calls, ms(report.cpu_s), ms(proof.cpu_s), ms(real.cpu_s), verdict.cpu_sign,
        verdict.cpu_amount,
    ]  # fmt: skip
    return Row(name, cells, verdict)


def pair_rows(pair: str, folder: Path, runs: int) -> list[Row]:
    lenses, environment = LENSES[pair], guide.ENVIRONMENT.get(pair)
    before, after = (str(guide.BUILD / "guide" / pair / version) for version in ("before", "after"))

    def recorded(program: str, *options: str) -> Path:
        trace = folder / f"{Path(program).name}.tare"
        run(TARE, "run", "-q", *options, "-o", str(trace), "--", program, environment=environment)
        return trace

    waste = recorded(before, *OPTIONS.get(pair, ()))
    told, calls_before = promise(waste, lenses, runs), calls_of(waste)

    def beside(name: str, program: str) -> Row:
        compared = json.loads(
            run(TARE, "compare", "--no-record", "--json", "--runs", str(runs), "--", before, "--", program, environment=environment)
        )  # fmt: skip
        return row_of(name, lenses, told, real_of(compared, calls_of(recorded(program)) - calls_before))

    rows = [beside(pair, after)]
    if alone := remedied(pair, folder):
        if run(str(alone), environment=environment) != run(before, environment=environment):
            sys.exit(f"{pair}: the remedied program has another output")
        rows.append(beside(f"{pair}: remedy alone", str(alone)))
    return rows


def case_rows(name: str, folder: Path, runs: int) -> list[list[str]]:
    case, trace = CASES[name](), folder / "case.tare"
    run(TARE, "run", "-q", "-o", str(trace), "--", *case.command, environment=case.environment)
    told = json.loads(run(TARE, "prove", str(trace), "--json", "--runs", str(runs)))
    rows = []
    for finding in told["findings"]:
        proof, (peak, cpu) = finding["proof"], predicted(finding)
        what = f"{finding['number']} {finding['lens']} {finding['function']}".replace("|", "\\|")
        if proof is None:
            rows.append([name, what, kib(peak), "not performed", ms(cpu), "-", "-"])
            continue
        rows.append(
            [name, what, kib(peak), kib(proof["peak_rss_bytes"]["change"]), ms(cpu), ms(proof["cpu_s"]["change"]), f"{proof['calls']['change']:,}"]
        )  # fmt: skip
    if proof := told["together"]:
        peak, cpu = predicted(proof)
        rows.append(
            [name, "together", kib(peak), kib(proof["peak_rss_bytes"]["change"]), ms(cpu), ms(proof["cpu_s"]["change"]), f"{proof['calls']['change']:,}"]
        )  # fmt: skip
    return rows


def publish(rows: list[Row], cases: list[list[str]], *, whole: bool, dry_run: bool) -> None:
    body = "" if whole else "A part of the pairs or programs, measured after the last whole run.\n\n"
    body += (
        "Gains of the guide's remedies: predicted from the recording with the waste, proven by performing its calls with the remedy, and real:\n"
        "the difference of the two programs, run without a recorder. Where a pair's second program changes more than the remedy, a row beside it has\n"
        "the program with the remedy alone. Met by the prediction, with the calls of the proof: "
        f"{summary([row.verdict for row in rows])}.\n\n" + table(PAIR_HEADER, [row.cells for row in rows])
    )
    if cases:
        body += "\nFirst findings of programs whose source nobody has edited: predicted and proven.\n\n" + table(
            CASE_HEADER, cases
        )
    print(body)
    if not dry_run:
        results = Results("proofs" if whole else "proofs-part")
        for row in rows:
            if row.verdict.is_miss and row.name in REASONS:
                results.remark(f"{row.name}: {REASONS[row.name]}")
        results.write_section(body)


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
    rows: list[Row] = []
    cases: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in options.pair or PAIRS:
            print(pair, file=sys.stderr, flush=True)
            found = pair_rows(pair, Path(folder), options.runs)
            rows += found
            print("\n".join(" | ".join(row.cells) for row in found), file=sys.stderr, flush=True)
        for name in options.case or CASES:
            if name == "none" or (name == "stress" and not options.case):  # it has no waste to prove
                continue
            print(name, file=sys.stderr, flush=True)
            cases += case_rows(name, Path(folder), options.runs)
    publish(rows, cases, whole=not options.pair and not options.case, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
