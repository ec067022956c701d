"""CPU time, wall time and peak RSS of `tare fleet add` for one recording of each of a few real programs, which no command has read before.

`make bench-fleet_add`, or `python3 bench/fleet_add.py --tare .venv/bin/tare --tare "python -m tare"` to compare commands in turn; writes its part
of bench/RESULTS.md only without --tare.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fleet_scale import PROGRAM
from harness.measure import ROOT, measure
from harness.results import Results, table

TARE = str(ROOT / ".venv/bin/tare")
RUNS = 7
MOST_S = 1.0
PYTHON = os.path.realpath(sys.executable)
SQL = (
    "create table t as with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) select x, hex(randomblob(20)) y from c;"
    " create index i on t(y); select count(*) from t where y like '%AB%';"
)
# name: (options of `tare run`, the command)
CASES: dict[str, tuple[list[str], list[str]]] = {
    "python: imports of half the standard library": ([], [PYTHON, "-c", PROGRAM]),
    "python: the same, with snapshots": (["--snapshots"], [PYTHON, "-c", PROGRAM]),
    "git log --stat": ([], ["git", "-C", str(ROOT), "log", "--stat", "-30"]),
    "sqlite3: a table and an index": ([], ["sqlite3", ":memory:", SQL]),
    "cc1: compile 300 functions of C": ([], ["cc1", "-quiet", "-O2", "file.c", "-o", "file.s"]),
}


def record(case: str, folder: Path) -> Path:
    options, (program, *arguments) = CASES[case]
    if program == "cc1":
        program = subprocess.run(
            ["cc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True
        ).stdout.strip()
    functions = "".join(f'int f{n}(int x) {{ return x * {n} + printf("%d", x); }}\n' for n in range(300))
    (folder / "file.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n{functions}")
    environment = os.environ | {"PYTHONMALLOC": "malloc", "GIT_PAGER": "cat"}
    subprocess.run(
        [TARE, "run", "-q", *options, "-o", "t.tare", "--", program, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return folder / "t.tare"


def measure_case(results: Results, case: str, commands: list[str], runs: int) -> None:
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            trace = record(case, folder)
            for number, command in enumerate(commands):
                copy = folder / f"{number}.tare"  # no command finds the tables that another one kept
                shutil.copyfile(trace, copy)
                usage = measure([*shlex.split(command), "fleet", "add", folder / f"store{number}", copy], folder)
                results.add(case, command, "cpu", usage.cpu_seconds)
                results.add(case, command, "wall", usage.wall_seconds)
                results.add(case, command, "rss", usage.max_rss_bytes)
            results.add(case, "trace", "bytes", trace.stat().st_size)


def body(results: Results, commands: list[str], runs: int) -> str:
    rows = []
    for case in dict.fromkeys(case for case, _, _ in results.samples):
        for command in commands:
            cpu, wall, rss = (results.median(case, command, metric) or 0.0 for metric in ("cpu", "wall", "rss"))
            low, high = results.spread(case, command, "cpu") or (0.0, 0.0)
            name = case if len(commands) == 1 else f"{case}, {command}"
            kilobytes = (results.median(case, "trace", "bytes") or 0.0) / 1e3
            rows.append(
                [
                    name,
                    f"{kilobytes:,.0f}",
                    f"{cpu:.2f}",
                    f"{low:.2f} to {high:.2f}",
                    f"{wall:.2f}",
                    f"{rss / 2**20:,.0f}",
                ]
            )
    return (
        f"`tare fleet add` of one recording to a new store, {runs} times; medians. No command had read the trace before. The target is {MOST_S:.0f} s.\n\n"
        + table(["program", "trace kB", "CPU s", "least to most", "wall s", "peak RSS MiB"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tare", action="append", help="a command instead of .venv/bin/tare; may be repeated")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="only this case; may be repeated")
    options = parser.parse_args()
    results = Results("fleet_add")
    commands = options.tare or [TARE]
    for case in options.case or CASES:
        measure_case(results, case, commands, options.runs)
    results.publish(body(results, commands, options.runs), whole=not options.tare and not options.case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
