"""Is sampling unbiased? Records one program exactly, then with many seeds, and compares the mean of every printed sum.

Each sum's line has the exact value, the sampled runs' mean in units of it, the standard error of that mean, and how many runs
printed it (a finding near its threshold is shown in some runs only; its mean is over those, and isn't judged, nor is a sum of
so few blocks that most runs sample none). Fails if a mean is further than 1 % from the exact value and that is more than three
standard errors, so no chance. A mean beyond 1 % within them is undecided and counted: more seeds decide. Times aren't compared,
two exact runs differ in them.

`make bench-sampling`, or `python3 bench/sampling.py --seeds 200`; writes its part of bench/RESULTS.md.
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
from typing import Any, NamedTuple

from harness.measure import ROOT
from harness.results import Results, table

CHAIN_SUMS = (
    "grown_blocks",
    "steps",
    "slow_steps",
    "in_place_steps",
    "copied_bytes",
    "doubling_copied_bytes",
    "requested_bytes",
    "rounded_4k_bytes",
    "doubling_bytes",
    "peak_blocks",
)
AGES = ("freed_within_16", "freed_within_64", "freed_within_256", "freed_within_65536", "freed_later")
LIMIT = 0.01
TOO_NOISY = 0.05  # a larger standard error makes a mean useless
TOO_FEW = 100  # blocks at the peak: with fewer, rounding and the exact instant of the peak decide


class Verdict(NamedTuple):
    name: str
    exact: float
    ratio: float
    error: float  # standard error of the ratio
    runs: int
    everywhere: bool  # every run printed it
    rare: bool  # so few blocks that it's noise

    @property
    def judged(self) -> bool:
        return self.everywhere and not self.rare

    @property
    def word(self) -> str:
        if not self.judged:
            return "too rare" if self.rare else "in some runs only"
        off = abs(self.ratio - 1)
        return "" if off <= LIMIT else "biased" if off > 3 * self.error else "undecided"


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
    for lens in report["lenses"]:
        for key in ("bytes_peak", "bytes_end", "bytes_total"):
            found[f"{lens['lens']}.{key}"] = lens[key]
    for finding in report["findings"]:
        function = finding["function"].replace("(anonymous namespace)::", "").partition("(")[0]
        for key in ("blocks", "bytes_peak", "bytes_end", "bytes_total", "calls"):
            if finding[key] is not None:
                found[f"{finding['lens']}/{function}.{key}"] += finding[key]
    for row in json_of(tare, "sql", str(trace), "select * from growth"):
        for key in CHAIN_SUMS:
            found[f"growth[{row['kind']}].{key}"] += row[key]
    ages = ", ".join(f"sum({age}) as {age}" for age in AGES)
    for age, value in json_of(tare, "sql", str(trace), f"select {ages} from site_sizes")[0].items():
        found[age] = float(value)
    return dict(found)


def record(tare: str, program: Path, trace: Path, sample: int, seed: int) -> dict[str, float]:
    options = ["--sample", str(sample)] if sample else []
    command = [tare, "run", "-q", "-o", str(trace), *options, "--", str(program)]
    subprocess.run(command, check=True, env={**os.environ, "TARE_SAMPLE_SEED": str(seed)})
    return sums(tare, trace)


def judge(exact: dict[str, float], runs: list[dict[str, float]]) -> list[Verdict]:
    few = {name.rpartition(".")[0] for name, value in exact.items() if name.endswith(".blocks") and value < TOO_FEW}
    verdicts = []
    for name, value in sorted(exact.items()):
        seen = [run[name] for run in runs if name in run]
        if value != 0 and len(seen) >= 2:
            error = stdev(seen) / math.sqrt(len(seen)) / abs(value)
            ratio = fmean(seen) / value
            site, _, sum_name = name.rpartition(".")
            rare = error > TOO_NOISY or (site in few and sum_name in ("blocks", "bytes_peak"))
            verdicts.append(Verdict(name, value, ratio, error, len(seen), len(seen) == len(runs), rare))
    return verdicts


def body(verdicts: list[Verdict], seeds: int, sample: int) -> str:
    judged = [v for v in verdicts if v.judged]
    biased, undecided = (sum(v.word == word for v in judged) for word in ("biased", "undecided"))
    worst = max(judged, key=lambda v: abs(v.ratio - 1))
    rows = [[v.name, f"{v.exact:,.0f}", f"{v.ratio:.4f}", f"{v.error:.4f}", f"{v.runs}", v.word] for v in verdicts]
    return (
        f"`bench/workloads/sampled_mix.cc` recorded exactly and with {seeds} seeds, one allocation in {sample:,} bytes. Of "
        f"{len(judged)} printed sums, the mean of {len(judged) - biased - undecided} is within 1 % of the exact one, {biased} "
        f"are biased, {undecided} beyond 1 % but within three standard errors. Furthest: {worst.name}, {worst.ratio:.4f}.\n\n"
        + table(["sum", "exact", "mean / exact", "std. error", "runs", ""], rows)
    )


def write_rows(verdicts: list[Verdict]) -> None:
    """bench/results/sampling.json: each sum as it is (native) and as samples have it (tare)."""
    rows = []
    for verdict in verdicts:
        unit = "bytes" if "bytes" in verdict.name else "count"
        for subject, value in (("native", verdict.exact), ("tare", verdict.exact * verdict.ratio)):
            rows.append({"case": verdict.name, "subject": subject, "metric": unit, "value": value, "unit": unit})
    file = ROOT / "bench/results/sampling.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--sample", type=int, default=8192, help="mean bytes between samples")
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "sampled_mix"
        source = ROOT / "bench/workloads/sampled_mix.cc"
        subprocess.run(["g++", "-O1", "-g", "-fno-builtin", str(source), "-o", str(program)], check=True)
        exact = record(options.tare, program, folder / "exact.tare", 0, 0)
        runs = [
            record(options.tare, program, folder / "s.tare", options.sample, seed)
            for seed in range(1, options.seeds + 1)
        ]
    verdicts = judge(exact, runs)
    text = body(verdicts, options.seeds, options.sample)
    print(text)
    write_rows(verdicts)
    if not options.dry_run:
        Results("sampling").write_section(text)
    return int(any(v.word == "biased" for v in verdicts))


if __name__ == "__main__":
    sys.exit(main())
