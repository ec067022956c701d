"""Counts the instructions of a hook: rounds of heap calls under valgrind's callgrind, natively and under recorders.

Instructions don't depend on how busy the machine is. Each number is the difference of two runs, one of twice as many
rounds, divided by the rounds between them: the process's start and end are left out. A round is malloc and free, calloc and
free, malloc, realloc and free, or new[] and delete[].

`make bench-hot_path`; `python3 bench/hot_path.py --recorder before=PATH --recorder now=PATH` compares recorders
(libtare-record.so of two builds of the same build type), and fails if the last needs more than the first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from harness.callgrind import count_instructions
from harness.measure import ROOT
from harness.results import Results, table

ROUNDS = 20_000
TOLERANCE = 2  # instructions a round: the clock's stamps fall differently in each run


class Case(NamedTuple):
    kind: str
    depth: int
    words: str


CASES = (
    Case("malloc", 5, "malloc, free"),
    Case("malloc", 40, "malloc, free under 40 frames"),
    Case("malloc", -1, "malloc, free, another stack each time"),
    Case("calloc", 5, "calloc, free"),
    Case("realloc", 5, "malloc, realloc, free"),
    Case("new", 5, "new[], delete[]"),
)
MODES = {"": {}, " --content": {"TARE_CONTENT": "1"}, " --sample 512K": {"TARE_SAMPLE_BYTES": "524288"}}


def instructions(program: Path, case: Case, rounds: int, environment: dict[str, str], spools: Path) -> int:
    variables = os.environ | environment | {"TARE_SPOOL_DIR": str(spools)}
    counted = count_instructions([program, case.kind, str(case.depth), str(rounds)], variables)
    for spool in spools.iterdir():
        spool.unlink()
    return counted.instructions


def per_round(program: Path, case: Case, environment: dict[str, str], spools: Path) -> float:
    once, twice = (instructions(program, case, rounds, environment, spools) for rounds in (ROUNDS, 2 * ROUNDS))
    return (twice - once) / ROUNDS


def installed_recorder() -> Path:
    found = sorted((ROOT / ".venv/lib").glob("python*/site-packages/tare/libtare-record.so"))
    if not found:
        sys.exit("no recorder in .venv: run `make build`")
    return found[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", action="append", metavar="NAME=PATH", help="may be repeated; else the installed")
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    recorders = dict(each.split("=", 1) for each in options.recorder or [f"tare={installed_recorder()}"])
    names = list(recorders)
    results = Results("hot_path")
    rows, worse = [], []
    with tempfile.TemporaryDirectory() as name:
        program, spools = Path(name) / "hot_path", Path(name) / "spools"
        spools.mkdir()
        source = ROOT / "bench/workloads/hot_path.cc"
        subprocess.run(["g++", "-O2", "-g", "-fno-optimize-sibling-calls", str(source), "-o", str(program)], check=True)
        for mode, environment in MODES.items():
            for case in CASES:
                native = per_round(program, case, {}, spools)
                counts = [per_round(program, case, environment | {"LD_PRELOAD": recorders[n]}, spools) for n in names]
                for subject, count in zip(["native", *names], [native, *counts], strict=True):
                    results.add(case.words + mode, subject, "instructions", count, "count")
                rows.append([case.words + mode, f"{native:,.0f}", *(f"{count:,.0f}" for count in counts)])
                if counts[-1] > counts[0] + TOLERANCE:
                    worse.append(case.words + mode)
                print("  ".join(rows[-1]), flush=True)
    text = "Instructions a round, allocator included.\n\n" + table(["round", "native", *names], rows)
    results.write_json()
    if not options.dry_run:
        results.write_section(text)
    for each in worse:
        print(f"{each}: {names[-1]} needs more instructions than {names[0]}", file=sys.stderr)
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
