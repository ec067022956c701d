# SPDX-License-Identifier: Apache-2.0
"""Measures what recording costs programs with many threads, alive at a time or one after another, or many libraries.

CPU of the program and the launcher (getrusage), native and recorded, in turn; medians, and their ratios to native. The ratios of a column
must not grow with the number.

`make bench-scale`, or `python3 bench/scale.py --runs 5`; writes its part of bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from harness.measure import ROOT, cpu_s
from harness.results import Results, table

TARE = ROOT / ".venv/bin/tare"
PROGRAMS = ROOT / "tests/end_to_end/unharmed/programs"
CASES = {
    f"{number:,} {what}": (program, number)
    for what, program, numbers in (
        ("threads alive", "threads_alive", (1000, 4000, 10000)),
        ("threads in turn", "threads_in_turn", (10000, 40000)),
        ("libraries", "many_libraries", (1000, 4000)),
    )
    for number in numbers
}
LIBRARY = "#include <stdlib.h>\n#include <string.h>\nchar* grab(size_t n) { return memset(calloc(n, 1), 1, n - 1); }\n"
STATUSES = (0, 2)  # threads_in_turn ends with 2
WAYS: dict[str, list[str] | None] = {
    "native": None,
    "plain": [],
    "content": ["--content"],
    "snapshots": ["--snapshots"],
    "sample": ["--sample", "64K"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    results = Results("scale")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one.c").write_text(LIBRARY)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "one.c", "-o", "one.so"], cwd=folder, check=True)
        for program in {program for program, _ in CASES.values()}:
            source = str(PROGRAMS / f"{program}.c")
            subprocess.run(["cc", "-O1", "-pthread", source, "-o", program, "-ldl"], cwd=folder, check=True)
        for _ in range(options.runs):
            for case, (program, number) in CASES.items():
                for way, chosen in WAYS.items():
                    recorded = [] if chosen is None else [os.fspath(TARE), "run", "-q", "-o", "t.tare", *chosen, "--"]
                    results.add(
                        case,
                        way,
                        "cpu",
                        cpu_s([*recorded, f"./{program}", str(number)], folder, statuses=STATUSES),
                        "s",
                    )
    rows = []
    for case in CASES:
        native = results.median(case, "native", "cpu") or 0
        row = [case, f"{native:.2f} s"]
        for way in WAYS:
            if way != "native":
                seconds = results.median(case, way, "cpu") or 0
                row.append(f"{seconds:.2f} s ({seconds / native:.1f})")
        rows.append(row)
    body = f"CPU time, medians of {options.runs} interleaved runs, and ratios to native.\n\n" + table(["", *WAYS], rows)
    results.publish(body, whole=not options.dry_run)


if __name__ == "__main__":
    main()
