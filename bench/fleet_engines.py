"""CPU time, wall time and peak RSS of `tare fleet` with DuckDB and with Spark on one machine, on a generated store. Their answers must be equal.

`make bench-fleet_engines`, or `python3 bench/fleet_engines.py --recordings 30 --runs 1` after `make build/pyspark/.installed`. Stores of 300 and of
10,000 recordings have their parts of bench/RESULTS.md; other sizes are only printed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from fleet_scale import record
from fleet_store import fill
from harness.measure import ROOT
from harness.results import Results, table

PUBLISHED = {300: "fleet_engines", 10_000: "fleet_engines-10000"}  # recordings: the part
ROWS = 2000
ENGINES = {"DuckDB": [], "Spark": ["--engine", "spark", "--spark-master", "local[2]"]}
QUERIES = {
    "report --json, all sites": ("report", "--json"),
    "diff --json of two groups of builds": ("diff", "--json", "--before", "build=1.?", "--after", "build=1.1?"),
    "sql: bytes by build": ("sql", "--json", "select build, sum(s.peak_gross_bytes) as bytes from site_sums s join recordings r using (recording) group by build order by build"),
}  # fmt: skip


def measure_engines(results: Results, tare: str, recordings: int, runs: int, folder: Path) -> None:
    store = folder / "store"
    fill(store, recordings, ROWS)
    for _ in range(runs):
        for query, (verb, *rest) in QUERIES.items():
            answers = set()
            for engine, options in ENGINES.items():
                answer = folder / "answer"
                record(results, query, engine, [tare, "fleet", verb, store, *rest, *options], folder, answer)
                answers.add(answer.read_text())
            if len(answers) > 1:
                raise SystemExit(f"{query}: the engines' answers differ")


def body(results: Results, recordings: int, runs: int) -> str:
    rows = []
    for query in QUERIES:
        for engine in ENGINES:
            cpu, wall, rss = (results.median(query, engine, metric) or 0.0 for metric in ("cpu", "wall", "rss"))
            rows.append([query, engine, f"{cpu:.1f}", f"{wall:.1f}", f"{rss / 2**20:,.0f}"])
    return (
        f"A generated store of {recordings:,} recordings of one program: 20 builds, {ROWS:,} rows of `site_sums` a recording and nearly as many of"
        f" `claims`. Spark runs on two cores of this machine (`local[2]`); each command starts it anew. Medians of {runs}, the engines in turn. The"
        f" engines' answers were equal byte for byte.\n\n"
        + table(["command", "engine", "CPU s", "wall s", "peak RSS MiB"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=min(PUBLISHED))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT / "build/pyspark")
    results = Results(PUBLISHED.get(options.recordings, "fleet_engines"))
    with tempfile.TemporaryDirectory() as name:
        measure_engines(results, options.tare, options.recordings, options.runs, Path(name))
    results.publish(body(results, options.recordings, options.runs), whole=options.recordings in PUBLISHED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
