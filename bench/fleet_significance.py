"""Errors of `tare fleet diff`: how often two groups of equal recordings differ, and how often a growth of 5 % at one site is named.

Each seed is a store of random recordings (tests/python/fleet_random.py). In the first half of a case both builds are equal: a named site is
false. In the second half the largest site has 5 % more bytes in the second build: it must be named as grown, with an interval above 0.

`make bench-fleet_significance`, or `BENCH_ARGS="--seeds 20 --case alike"`; writes its part of bench/RESULTS.md only if every case has 200 seeds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.measure import ROOT
from harness.results import Results, table

sys.path.insert(0, str(ROOT / "tests/python"))

from fleet_random import fill  # type: ignore[import-not-found]
from tare.fleet.comparison import compare
from tare.fleet.store import Store, condition

SEEDS = 200
MOST_FALSE = 0.05
LEAST_NAMED = 0.9
# name: (what it is, arguments of fill, unit)
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "typical": ("24 machines a build with 4 recordings each, 30 sites", {}, "machine"),
    "many sites": ("24 machines with 4 recordings, 200 sites", {"sites": 200}, "machine"),
    "CI": ("96 recordings of one machine a build, 30 sites", {"machines": 1, "each": 96, "noise": 0.0}, "recording"),
    "few machines": ("8 machines with 12 recordings, 30 sites", {"machines": 8, "each": 12}, "machine"),
    "12 machines": ("12 machines with 8 recordings, 30 sites", {"machines": 12, "each": 8}, "machine"),
    "16 machines": ("16 machines with 6 recordings, 30 sites", {"machines": 16, "each": 6}, "machine"),
    "20 machines": ("20 machines with 5 recordings, 30 sites", {"machines": 20, "each": 5}, "machine"),
    "same machines": ("24 machines with both builds, 4 recordings of each, 30 sites", {"shared": True}, "machine"),
    "same machines, unlike": ("the same, and machines differ by 30 %", {"shared": True, "noise": 0.3}, "machine"),
    "other machines, unlike": ("typical, and machines differ by 30 %", {"noise": 0.3}, "machine"),
}


def found(folder: Path, seed: int, unit: str, growth: float, options: dict[str, Any]) -> tuple[int, bool]:
    """Number of named sites, and if the grown one is among them."""
    store = folder / "store"
    fill(store, seed, growth=growth, **options)
    result = compare(Store(store), [condition("build=1")], [condition("build=2")], "gross", unit, None)
    right = any(each.function == "f0" and each.kind == "grew" and each.mean.low > 0 for each in result.sites)
    return result.found, right


def measure_case(results: Results, name: str, seeds: int) -> None:
    _, options, unit = CASES[name]
    for seed in range(seeds):
        for subject, growth in (("equal", 1.0), ("grown", 1.05)):
            with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                named, right = found(Path(folder), seed, unit, growth, options)
            results.add(name, subject, "any", float(named > 0), "share")
            results.add(name, subject, "grown site", float(right), "share")
            results.add(name, subject, "false", float(named - right), "count")
    print(time.strftime("%T"), name, file=sys.stderr, flush=True)


def share(results: Results, case: str, subject: str, metric: str) -> float:
    samples = results.samples[case, subject, metric]
    return sum(samples) / len(samples)


def body(results: Results, cases: list[str], seeds: int) -> str:
    rows = []
    for name in cases:
        false, named = share(results, name, "equal", "any"), share(results, name, "grown", "grown site")
        others = share(results, name, "grown", "false") / max(1e-9, share(results, name, "grown", "false") + named)
        rows.append([f"{name}: {CASES[name][0]}", f"{false:.1%}", f"{named:.1%}", f"{others:.1%}"])
    return (
        f"{seeds} random stores a case, noise of 3 % between machines and 5 % between recordings. Seeds with a difference between equal groups are to be at most"
        f" {MOST_FALSE:.0%}; a growth of 5 % at one site is to be named in {LEAST_NAMED:.0%} of the seeds.\n\n"
        + table(
            [
                "case",
                "equal groups: seeds with a named site",
                "5 % growth: seeds that name it",
                "of the named sites, false",
            ],
            rows,
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="only this case; may be repeated")
    options = parser.parse_args()
    cases = options.case or list(CASES)
    results = Results("fleet_significance")
    for name in cases:
        measure_case(results, name, options.seeds)
    results.publish(body(results, cases, options.seeds), whole=cases == list(CASES) and options.seeds >= SEEDS)
    return int(any(share(results, name, "equal", "any") > MOST_FALSE for name in cases))


if __name__ == "__main__":
    sys.exit(main())
