"""Runs generated programs natively and recorded, and reports each script whose output, status or messages differ.

python fuzz/programs/compare.py --seconds 600        from a seed of the clock, until the time is over
python fuzz/programs/compare.py --seed 17 --runs 1   one script again
python fuzz/programs/compare.py --script 't3(a4)k0'  a script of one's own
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path[:0] = [str(HERE), str(REPO / "tests/end_to_end/unharmed")]

import generate  # noqa: E402
from unharmed import MODES, Outcome, TimedOutError, outcome_of  # noqa: E402

# The one line that `tare run` writes after a program whose children it could not record is no harm.
EXPECTED_NOTICE = re.compile(rb"^tare: \d+ process(es)? could not be recorded: [^\n]*\n", re.MULTILINE)
NATIVE_RUNS = 2  # a script whose native runs differ says nothing about a recorder


def build(folder: Path) -> Path:
    program = folder / "dangerous"
    sources = [str(source) for source in sorted(HERE.glob("*.cc"))]
    subprocess.run(["g++", "-std=c++20", "-O1", "-g", "-pthread", *sources, "-o", str(program)], check=True)
    return program


def native(program: Path, script: str, folder: Path) -> Outcome | None:
    """How the script ends natively; None where two runs differ or one hangs."""
    try:
        runs = [outcome_of([program, script], folder, timeout_s=60) for _ in range(NATIVE_RUNS)]
    except TimedOutError:
        return None
    return runs[0] if all(run == runs[0] for run in runs) else None


def difference(tare: str, program: Path, script: str, mode: str, folder: Path) -> str:
    """The differences of the script's output when it is recorded; empty if there are none."""
    expected = native(program, script, folder)
    if expected is None:
        return ""
    trace = folder / "script.tare"
    command: list[str | Path] = [tare, "run", "-q", "-o", str(trace), *MODES[mode], "--", program, script]
    try:
        seen = outcome_of(command, folder, timeout_s=120)
    except TimedOutError as hang:
        return str(hang)
    if dataclasses.replace(seen, stderr=EXPECTED_NOTICE.sub(b"", seen.stderr)) != expected:
        return f"native   {expected}\nrecorded {seen}"
    facts = outcome_of([tare, "sql", trace, "select impossible_events, dropped_events from process", "--json"], folder)
    if facts.status != 0 or b'"impossible_events": 0' not in facts.stdout:
        return f"the recording: {facts}"
    return ""


def _differs(tare: str, program: Path, mode: str, folder: Path, script: str) -> bool:
    return difference(tare, program, script, mode, folder) != ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000, help="the first script's seed")
    parser.add_argument("--runs", type=int, default=1 << 60, help="how many scripts")
    parser.add_argument("--seconds", type=float, default=60, help="stop after this time")
    parser.add_argument("--mode", choices=list(MODES), help="one mode of recording (default: all in turn)")
    parser.add_argument("--script", help="this script instead of generated ones")
    parser.add_argument("--tare", default=os.environ.get("TARE") or str(REPO / ".venv/bin/tare"))
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    modes = [given.mode] if given.mode else list(MODES)
    found = compared = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder)
        for seed in range(given.seed, given.seed + (1 if given.script else given.runs)):
            if time.monotonic() > end:
                break
            script = given.script or generate.script(seed)
            for mode in modes if given.script else [modes[seed % len(modes)]]:
                compared += 1
                what = difference(given.tare, program, script, mode, folder)
                if not what:
                    continue
                found += 1
                print(f"seed {seed}, {mode}: {script}\n{what}", flush=True)
                small = generate.reduced(script, partial(_differs, given.tare, program, mode, folder))
                print(f"reduced: {small}\n", flush=True)
    print(f"{compared} scripts compared, {found} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
