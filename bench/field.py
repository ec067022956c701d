"""Records ten real programs, plain and with their blocks' contents, and checks the recordings against independent facts.

For each: its output and status are those of a run without Tare; gross = net + tare to the byte for every choice of lenses,
and net is never negative; no event is impossible and none was dropped. Then the first ten findings of the default report
of each recording, as the rows that docs/field-notes.md judges.

`.venv/bin/python bench/field.py`, or `... --case git --programs FOLDER` (builds with debug information, found there before
PATH; docs/field-notes.md describes how they were made). Status 1: something wasn't true.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from field_programs import Program, programs, ready
from harness.machine import machine_description
from harness.measure import ROOT
from tare import lenses
from tare.analysis.languages import remedy
from tare.analysis.recording import Recording
from tare.reports.text_parts import amount
from tare.reports.text_report import default_findings
from tare.source.core_source import CoreSource

SCRATCH = ROOT / "build/field"
FIRST = 10
WAYS: dict[str, list[str]] = {"plain": [], "content": ["--content"]}


def run(program: Program, command: list[str], recorder: list[str], folder: Path) -> tuple[int, bytes]:
    """Status and all output; a client sends requests to a server meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with (
        (folder / "stdout").open("wb") as out,
        (folder / "stderr").open("wb") as err,
        subprocess.Popen(
            [*recorder, *command],
            cwd=folder,
            env={**os.environ, **program.environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        ) as running,
    ):
        # A server's log has times and process ids; its answers are its output.
        answers = program.client(folder) if program.client else None
        status = running.wait(timeout=600)
    output = (folder / "stdout").read_bytes() if answers is None else answers
    return status, output + ((folder / program.output).read_bytes() if program.output else b"")


def contradictions(trace: Path) -> Iterator[str]:
    """The facts that a recording contradicts."""
    source = CoreSource(str(trace))
    process = source.process()
    for name in ("impossible_events", "dropped_events"):
        if process[name]:
            yield f"{process[name]} {name.replace('_', ' ')}"
    weighed = [name for name in lenses.NAMES if lenses.load(name).weight == "tare"]
    for size in range(len(weighed) + 1):
        for chosen in itertools.combinations(weighed, size):
            moments = Recording(source, chosen or ("churn",)).moments
            for name in ("peak", "end"):
                moment = moments[name]
                gross, net, tare = moment.gross_bytes, moment.net_bytes, moment.tare_bytes
                if net is None or tare is None or gross != net + tare or gross != process[f"{name}_gross_bytes"]:
                    yield f"{','.join(chosen)} at the {name}: gross {gross} isn't net {net} + tare {tare}"
                elif not 0 <= net <= gross:
                    yield f"{','.join(chosen)} at the {name}: net {net} of gross {gross}"


def findings(trace: Path) -> Iterator[str]:
    """The first of the default report, a row each of a table that waits for verdicts."""
    recording = Recording(CoreSource(str(trace)), lenses.names_for([]))
    listed = itertools.islice(default_findings(recording), FIRST)
    for number, (lens, found, frame) in enumerate(listed, start=1):
        yield f"| {number} | {lens.name} | {frame} | {amount(found, lens)} | {found.confidence} | {remedy(found, frame)} | |"


def examine(program: Program, tare: str, builds: Path | None) -> Iterator[str]:
    """Lines about one program; those that begin with WRONG are failed checks."""
    command = ready(program, builds)
    if command is None:
        yield f"{program.name}: {program.command[0]} isn't installed"
        return
    native = run(program, command, [], SCRATCH / program.name / "native")
    for way, options in WAYS.items():
        folder = SCRATCH / program.name / way
        trace = folder / "out.tare"
        recorded = run(program, command, [tare, "run", "-q", "-o", str(trace), *options, "--"], folder)
        if recorded != native:
            yield f"WRONG {program.name}, {way}: output or status ({recorded[0]}) isn't that of a run without Tare ({native[0]})"
        for contradiction in contradictions(trace):
            yield f"WRONG {program.name}, {way}: {contradiction}"
        yield f"\n{program.name}, {way}: {program.work}; {len(native[1]):,} bytes of output\n"
        yield from findings(trace)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = programs()
    parser.add_argument("--case", action="append", choices=[each.name for each in known], help="only these")
    parser.add_argument("--programs", type=Path, metavar="FOLDER", help="builds that go before those in PATH")
    parser.add_argument("--tare", default=os.environ.get("TARE") or str(ROOT / ".venv/bin/tare"))
    options = parser.parse_args()
    wrong = 0
    for program in known:
        if options.case and program.name not in options.case:
            continue
        for line in examine(program, options.tare, options.programs):
            print(line, flush=True)
            wrong += line.startswith("WRONG")
    print(f"\n{machine_description()}; {wrong} contradictions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
