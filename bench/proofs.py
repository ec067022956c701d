"""Do predicted and proven gains come true?

Each pair of the guide: the program with the waste is recorded, the gain of its lenses' findings is predicted (the list by
worth) and proven (`tare prove`); then both programs run unrecorded, in turn. Where the pair changes more than the remedy, a second row
has the program with the remedy alone, made by a patch of `bench/remedies/`. The source of the spine's programs isn't edited, so that only
the prediction stands beside the proof.

`make bench-proofs`, or `python3 bench/proofs.py --pair 08-arena --case git`; writes its part of bench/RESULTS.md unless --dry-run.
A run of some pairs replaces their rows and leaves the others. Each row has the date of its measurement.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from calibration import Expected, Real, Verdict, judged, real_of, summary
from harness.measure import ROOT
from harness.results import Results, table
from spine_cases import CASES

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "pair", "lenses", "RSS real KiB", "predicted", "met", "proven", "met", "calls real", "proven", "met", "CPU real ms", "predicted", "sign",
    "factor of two", "proven", "sign", "factor of two", "measured",
]  # fmt: skip
CASE_HEADER = ["program", "finding", "RSS predicted KiB", "proven", "CPU predicted ms", "proven", "calls", "measured"]
# Columns of the verdicts on the prediction of the list, and on the proof. The calls are those of the proof in both.
OF_LIST, OF_PROOF = (4, 9, 12, 13), (6, 9, 15, 16)
# The peak RSS of small programs is a median of so many runs.
RSS_RUNS = 15
# Their second programs have other changes, too, and no patch makes the remedy alone.
CHANGE_MORE = ("15-value-tree", "17-document")
NOTHING = Expected(0.0, 0.0, 0.0)  # where no finding is expected
# Of misses, by row: a remark is written for a row only if it has a miss.
REASONS = {
    "01-clownshoes": "a segment that ends at the size class holds 40 bytes less, so that the program makes more segments",
    "02-just-enough-growth": "tare::Buffer grows by half, up to the size class, and the proof doubles",
    "02-just-enough-growth: remedy alone": "*growth* predicts no RSS: how much of the room of a doubled buffer is resident depends on what its memory held before",
    "03-eager-buffers": "tare::TextStream has 48 bytes inside, and the proof reuses blocks of 256",
    "04-twin-blocks": "an occurrence shrinks from 16 to 12 bytes, too, and the table of pointers goes",
    "05-duplicates": "the fields shrink from 32 bytes to 4, too: the objects of std::string lie in other blocks",
    "05-duplicates: remedy alone": "the fields shrink from 32 bytes to 8: the objects of std::string lie in other blocks",
    "09-unwritten": "48 bytes lie in the owner, and the proof allocates a block for them",
    "09-unwritten: remedy alone": "48 bytes lie in the owner, and the proof allocates a block for them",
    "06-recycling-cache": "no lens names the cache: nearly all messages wait at the peak",
    "11-hoards": "the pair keeps 16 pictures, and builds others again when they are shown; no remedy's own time is predicted",
    "11-hoards: remedy alone": "a picture is built with more than one call, when it is shown; no remedy's own time is predicted",
    "14-headroom": "tare::Buffer grows by half and shrinks by realloc; the list promises nothing, because all lists still grow at the peak",
    "14-headroom: remedy alone": "all lists still grow at the peak, so that shrink_to_fit() comes too late, as the list predicts; the proof has the last size from "
    "the beginning",
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


def bounded(text: str, *, is_least: bool) -> str:
    return f"at least {text}" if is_least else text


def ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:,.1f}"


def calls(count: float | None) -> str:
    return "-" if count is None else f"{count:,.0f}"


def predicted(found: dict[str, Any], calls: float | None = None) -> Expected:
    """The changes of peak RSS and of CPU time that a finding promises."""
    peak, cpu = found["gain_peak_bytes"], found["gain_cpu_ns"]
    return Expected(
        None if peak is None else -peak,
        None if cpu is None else -cpu / 1e9,
        calls,
        bool(found["gain_peak_at_least"]),
        bool(found["gain_cpu_at_least"]),
    )


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
    report = told["together"] or performed
    proof = told["together"] or performed["proof"]
    if proof is None:
        return Promise(predicted(report), Expected(None, None, None))
    proven = Expected(proof["peak_rss_bytes"]["change"], proof["cpu_s"]["change"], proof["calls"]["change"])
    return Promise(predicted(report, proven.calls), proven)


def remedied(pair: str, folder: Path) -> Path | None:
    """The pair's first program with the remedy alone; None: its second program has no other change."""
    patch = REMEDIES / f"{pair}.patch"
    if not patch.exists():
        return None
    source, program = folder / "remedied.cc", folder / "remedied"
    run("patch", "--silent", "-o", str(source), str(ROOT / "guide" / pair / "before.cc"), str(patch))
    run("c++", "-std=c++20", "-O2", "-g", "-DNDEBUG", "-o", str(program), str(source))
    return program


def row_of(name: str, lenses: tuple[str, ...], told: Promise, real: Real) -> list[str]:
    report, proof = told
    of_list, of_proof = judged(report, real), judged(proof, real)
    return [
        name, ", ".join(lenses) or "none",
        kib(real.peak_change), bounded(kib(report.peak_change), is_least=report.peak_at_least), of_list.rss, kib(proof.peak_change), of_proof.rss,
        calls(real.calls), calls(proof.calls), of_proof.calls,
        ms(real.cpu_s), bounded(ms(report.cpu_s), is_least=report.cpu_at_least), of_list.cpu_sign, of_list.cpu_amount,
        ms(proof.cpu_s), of_proof.cpu_sign, of_proof.cpu_amount, date.today().isoformat(),
    ]  # fmt: skip


def verdict_in(row: list[str], columns: tuple[int, ...]) -> Verdict:
    return Verdict(*(row[column] for column in columns))


def changes_more(name: str) -> bool:
    """The row's second program has more changes than the remedy of the findings."""
    return name in CHANGE_MORE or (REMEDIES / f"{name}.patch").exists()


def pair_rows(pair: str, folder: Path, runs: int) -> list[list[str]]:
    lenses, environment = LENSES[pair], guide.ENVIRONMENT.get(pair)
    before, after = (str(guide.BUILD / "guide" / pair / version) for version in ("before", "after"))

    def recorded(program: str, *options: str) -> Path:
        trace = folder / f"{Path(program).name}.tare"
        run(TARE, "run", "-q", *options, "-o", str(trace), "--", program, environment=environment)
        return trace

    waste = recorded(before, *OPTIONS.get(pair, ()))
    told, calls_before = promise(waste, lenses, runs), calls_of(waste)

    def beside(name: str, program: str) -> list[str]:
        compared = json.loads(
            run(TARE, "compare", "--no-record", "--json", "--runs", str(max(runs, RSS_RUNS)), "--", before, "--", program, environment=environment)
        )  # fmt: skip
        return row_of(name, lenses, told, real_of(compared, calls_of(recorded(program)) - calls_before, runs))

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

    def add(what: str, promised: Expected, proof: dict[str, Any] | None) -> None:
        peak = bounded(kib(promised.peak_change), is_least=promised.peak_at_least)
        cpu = bounded(ms(promised.cpu_s), is_least=promised.cpu_at_least)
        proven = ("not performed", "-", "-") if proof is None else (
            kib(proof["peak_rss_bytes"]["change"]), ms(proof["cpu_s"]["change"]), calls(proof["calls"]["change"])
        )  # fmt: skip
        rows.append([name, what, peak, proven[0], cpu, *proven[1:], date.today().isoformat()])

    for finding in told["findings"]:
        what = f"{finding['number']} {finding['lens']} {finding['function']}".replace("|", "\\|")
        add(what, predicted(finding), finding["proof"])
    if told["together"]:
        add("together", predicted(told["together"]), told["together"])
    return rows


def published(header: list[str], section: str) -> list[list[str]]:
    """The rows of the table with this header in bench/RESULTS.md."""
    return rows_in(Results(section).section(), header)


def rows_in(text: str, header: list[str]) -> list[list[str]]:
    lines = iter(text.splitlines())
    for line in lines:
        if line == table(header, []).splitlines()[0]:
            next(lines)
            break
    rows = []
    for line in lines:
        if not line.startswith("| "):
            break
        rows.append(re.split(r"(?<!\\)\|", line.strip("|")))
    return [[cell.strip() for cell in row] for row in rows]


def with_rows(old: list[list[str]], new: list[list[str]], belongs: Callable[[str], str]) -> list[list[str]]:
    """The old rows, those of the subjects that were measured again replaced; in the order of the subjects."""
    measured = {belongs(row[0]) for row in new}
    return sorted([*(row for row in old if belongs(row[0]) not in measured), *new], key=lambda row: belongs(row[0]))


def summaries(rows: list[list[str]]) -> str:
    """Met by both kinds of prediction: of all rows, and of those whose second program has the remedies and no other change."""
    alone = [row for row in rows if not changes_more(row[0])]
    more = [row for row in rows if changes_more(row[0])]
    lines = []
    for columns, whose in ((OF_LIST, "the list by worth, with the calls of the proof"), (OF_PROOF, "the proof")):
        lines.append(f"Met by {whose}:\n")
        for these, of in (
            (rows, "all rows"),
            (alone, "programs that have the remedies and no other change"),
            (more, "pairs that change more"),
        ):
            if these:
                lines.append(f"- {of}: {summary([verdict_in(row, columns) for row in these])}.")
        lines.append("")
    return "\n".join(lines)


def publish(rows: list[list[str]], cases: list[list[str]]) -> None:
    rows = with_rows(published(PAIR_HEADER, "proofs"), rows, lambda name: name.split(":")[0])
    cases = with_rows(published(CASE_HEADER, "proofs"), cases, lambda name: f"{list(CASES).index(name):02}")
    body = (
        "Gains of the guide's remedies: predicted from the recording with the waste, proven by performing its calls with the remedy, and real:\n"
        "the difference of the two programs, run without a recorder. Where a pair's second program changes more than the remedy, a row beside it has\n"
        "the program with the remedy alone. The last column has the date of each row.\n\n"
        f"{summaries(rows)}\n" + table(PAIR_HEADER, rows)
    )
    if cases:
        body += "\nFirst findings of programs whose source nobody has edited: predicted and proven.\n\n" + table(
            CASE_HEADER, cases
        )
    results = Results("proofs")
    for row in rows:
        if row[0] in REASONS and any(verdict_in(row, columns).is_miss for columns in (OF_LIST, OF_PROOF)):
            results.remark(f"{row[0]}: {REASONS[row[0]]}")
    results.write_section(body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--pair", action="append", choices=[*PAIRS, "none"], help="only these pairs of the guide; none: only programs"
    )
    parser.add_argument(
        "--case", action="append", choices=[*CASES, "none"], help="only these programs; none: only pairs"
    )
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    guide.build()
    pairs = [each for each in options.pair or PAIRS if each != "none"]
    cases = [
        each for each in options.case or CASES if each != "none" and (each != "stress" or options.case)
    ]  # stress has no waste to prove
    with tempfile.TemporaryDirectory() as folder:
        for name in (*pairs, *cases):
            print(name, file=sys.stderr, flush=True)
            rows = (pair_rows if name in PAIRS else case_rows)(name, Path(folder), options.runs)
            print("\n".join(" | ".join(row) for row in rows), file=sys.stderr, flush=True)
            if not options.dry_run:  # at once: a run takes an hour, and may be interrupted
                publish(*((rows, []) if name in PAIRS else ([], rows)))


if __name__ == "__main__":
    main()
