"""CPU time, wall time and peak RSS of `tare fleet` on generated stores of 1,000, 3,000 and 10,000 recordings with 2,000 rows a table.

Each command is a process of its own. Adding is measured with new recordings of a Python program that imports half of the standard library.

`python3 bench/fleet_scale.py`, or `make bench-fleet_scale BENCH_ARGS="--recordings 1000 --runs 1"`; writes its part of bench/RESULTS.md only if
all sizes are measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fleet_store import fill
from harness.measure import ROOT, measure
from harness.results import Results, table

SIZES = (1000, 3000, 10_000)
ROWS = 2000
ADDS = 5
PROGRAM = "import asyncio, json, xml.dom.minidom, email.mime.text, unittest, sqlite3, http.server, decimal, difflib, argparse, logging.config"
QUERIES = {
    "report": ("report",),
    "report --json, all sites": ("report", "--json"),
    "report --where build=1.19": ("report", "--where", "build=1.19"),
    "diff of two builds": ("diff", "--before", "build=1.18", "--after", "build=1.19"),
    "sql: mean by build": ("sql", "select build, avg(s.peak_gross_bytes) from site_sums s join recordings r using (recording) group by build"),
    "verify": ("verify",),
}  # fmt: skip


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure_size(results: Results, tare: str, size: int, runs: int, folder: Path) -> None:
    store = folder / "store"
    fill(store, size, ROWS)
    case = f"{size:,}"
    results.add(case, "store", "bytes", folder_bytes(store))
    for number in range(ADDS):
        trace = folder / f"{number}.tare"
        subprocess.run([tare, "run", "-q", "-o", trace, "--", sys.executable, "-c", PROGRAM], check=True)
        record(results, case, "add one recording", [tare, "fleet", "add", store, trace], folder)
    for _ in range(runs):
        for name, (verb, *rest) in QUERIES.items():
            record(results, case, name, [tare, "fleet", verb, store, *rest], folder)
    record(results, case, "compact", [tare, "fleet", "compact", store], folder)
    record(results, case, "report, compacted", [tare, "fleet", "report", store], folder)
    shutil.rmtree(store)


def record(
    results: Results, case: str, name: str, command: list[str | Path], folder: Path, stdout: Path | None = None
) -> None:
    usage = measure(command, folder, stdout=stdout)
    results.add(case, name, "cpu", usage.cpu_seconds)
    results.add(case, name, "wall", usage.wall_seconds)
    results.add(case, name, "rss", usage.max_rss_bytes)
    print(f"{time.strftime('%T')} {case} {name}: {usage}", file=sys.stderr, flush=True)


def body(results: Results, sizes: list[int]) -> str:
    names = list(dict.fromkeys(subject for _, subject, metric in results.samples if metric == "cpu"))
    rows = []
    for name in names:
        for size in sizes:
            case = f"{size:,}"
            cpu, wall, rss = (results.median(case, name, metric) for metric in ("cpu", "wall", "rss"))
            if cpu is None or wall is None or rss is None:
                continue
            each = "" if name == "add one recording" else f"{cpu / size * 1000:.2f}"
            rows.append([name, case, f"{cpu:.2f}", each, f"{wall:.2f}", f"{rss / 2**20:,.0f}"])
    stores = ", ".join(f"{(results.median(f'{s:,}', 'store', 'bytes') or 0) / 1e6:,.0f} MB" for s in sizes)
    return (
        f"Generated stores of {', '.join(f'{s:,}' for s in sizes)} recordings: one program, 20 builds, 2,000 machines, {ROWS:,} rows of `site_sums` a recording and"
        f" nearly as many of `claims`; {stores}. Medians. `add` includes the lenses on a recording of a Python program; its trace had not been read before.\n\n"
        + table(["command", "recordings", "CPU s", "CPU ms a recording", "wall s", "peak RSS MiB"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, action="append", help="only stores of this size; may be repeated")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    options = parser.parse_args()
    sizes = options.recordings or list(SIZES)
    results = Results("fleet_scale")
    os.environ["PYTHONMALLOC"] = "malloc"
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            measure_size(results, options.tare, size, options.runs, Path(name))
    results.publish(body(results, sizes), whole=sizes == list(SIZES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
