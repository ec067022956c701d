"""Prices of calls, copies, page faults and mappings on this machine: the constants of `tare.lenses.call_price` and `tare.analysis.prices`.

`make bench-worth`, or `python3 bench/worth.py --runs 5`; writes its part of bench/RESULTS.md unless --dry-run.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from harness.measure import ROOT
from harness.results import Results, table


def prices(runs: int) -> dict[str, float]:
    """Medians in nanoseconds, by the names that prices.c prints."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "prices"
        subprocess.run(["cc", "-O2", "-o", program, ROOT / "bench/workloads/prices.c"], check=True)
        for _ in range(runs):
            for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
                name, _, value = line.rpartition(" ")
                found.setdefault(name, []).append(float(value))
    return {name: median(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    rows = [[name, f"{value:.3g}"] for name, value in prices(options.runs).items()]
    body = table(["price", "ns"], rows)
    print(body)
    if not options.dry_run:
        Results("worth").write_section(body)


if __name__ == "__main__":
    main()
