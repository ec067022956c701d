"""Is sampling unbiased? Records one program exactly, then with many seeds, and compares the mean of every printed sum.

Prints one line a sum: exact, mean of the sampled runs, their ratio, the standard error, and how many runs printed it (a
finding near its threshold is shown in some runs only; its mean is over those). Fails if a sum that every run printed has
a mean further than 1 % from the exact one, unless that is within three standard errors: a sum of a few bytes needs more
seeds than anyone waits for. `python3 bench/sampling.py --seeds 200`
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

REPO = Path(__file__).resolve().parent.parent
CHAIN_SUMS = (
    "chains",
    "steps",
    "slow_steps",
    "copied_bytes",
    "doubling_copied_bytes",
    "requested_bytes",
    "doubling_bytes",
)


def json_of(tare: str, *arguments: str) -> Any:
    done = subprocess.run([tare, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def sums(tare: str, trace: Path) -> dict[str, float]:
    """Every sum that reports print, by name. A sum that sampling leaves out (null) is absent."""
    found: dict[str, float] = defaultdict(float)
    report = json_of(tare, "report", str(trace))
    for moment in ("peak", "end", "total"):
        for key, value in report[moment].items():
            if value is not None and key != "time_ns":
                found[f"{moment}.{key}"] = value
    for finding in report["findings"]:
        for key in ("blocks", "bytes_peak", "bytes_end", "bytes_total", "calls"):
            if finding[key] is not None:
                found[f"{finding['lens']}/{finding['function']}.{key}"] += finding[key]
    for row in json_of(tare, "sql", str(trace), "select * from chains"):
        for key in CHAIN_SUMS:
            found[f"chains[{row['kind']}].{key}"] += row[key]
    return dict(found)


def record(tare: str, program: Path, trace: Path, sample: int, seed: int) -> dict[str, float]:
    options = ["--sample", str(sample)] if sample else []
    command = [tare, "run", "-q", "-o", str(trace), *options, "--", str(program)]
    subprocess.run(command, check=True, env={**os.environ, "TARE_SAMPLE_SEED": str(seed)})
    return sums(tare, trace)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--sample", type=int, default=8192, help="mean bytes between samples")
    parser.add_argument("--tare", default=str(REPO / ".venv/bin/tare"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "sampled_mix"
        source = REPO / "bench/workloads/sampled_mix.cc"
        subprocess.run(["g++", "-O1", "-g", "-fno-builtin", str(source), "-o", str(program)], check=True)
        exact = record(options.tare, program, folder / "exact.tare", 0, 0)
        runs = [
            record(options.tare, program, folder / "s.tare", options.sample, seed)
            for seed in range(1, options.seeds + 1)
        ]
    failed = 0
    print(f"{options.seeds} seeds, one allocation in {options.sample} bytes")
    print(f"{'sum':64} {'exact':>16} {'mean / exact':>12} {'std. error':>10} {'runs':>5}")
    for key, value in sorted(exact.items()):
        seen = [run[key] for run in runs if key in run]
        if value == 0 or len(seen) < 2:
            continue
        error = stdev(seen) / math.sqrt(len(seen)) / abs(value)
        off = abs(fmean(seen) / value - 1)
        bad = len(seen) == len(runs) and off > 0.01 and off > 3 * error
        failed += bad
        print(
            f"{key:64} {value:16.0f} {fmean(seen) / value:12.4f} {error:10.4f} {len(seen):5}{'  biased' if bad else ''}"
        )
    print(f"{failed} biased")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
