"""What a pair of malloc and free costs where nothing is sampled: ns and instructions, beside an interposer that only jumps.

Each subject runs the same program, interleaved; its time is the lower quartile over the runs, since other work of the machine
only adds, and the clock is the same for all. Instructions are callgrind's: the difference of two runs, one of twice as many pairs, by the pairs between
them. "exact" records every block and is there for comparison.

`make bench-sampling-cost`; `python3 bench/sampling_cost.py --recorder before=PATH --recorder now=PATH` compares
recorders (libtare-record.so of two builds).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness.callgrind import count_instructions
from harness.measure import ROOT
from harness.results import Results, table
from hot_path import installed_recorder

TIMED_PAIRS = 1_000_000
COUNTED_PAIRS = 20_000
MODES = {
    "asleep": {"TARE_START_PAUSED": "1"},
    "--sample 4M": {"TARE_SAMPLE_BYTES": str(4 << 20)},
    "--sample 512K": {"TARE_SAMPLE_BYTES": str(512 << 10)},
    "exact": {},
}


def variables(environment: dict[str, str], spools: Path) -> dict[str, str]:
    """A folder that has no spools of earlier runs."""
    for spool in spools.iterdir():
        spool.unlink()
    return os.environ | {"TARE_SPOOL_DIR": str(spools)} | environment


def run(command: list[str | Path], environment: dict[str, str], spools: Path) -> str:
    env = variables(environment, spools)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def instructions(program: Path, environment: dict[str, str], spools: Path) -> float:
    def count(pairs: int) -> int:
        return count_instructions([program, str(pairs)], variables(environment, spools)).instructions

    return (count(2 * COUNTED_PAIRS) - count(COUNTED_PAIRS)) / COUNTED_PAIRS


# Blocks that glibc made 16 bytes larger than the request needs, so that they cross the limit of an octave.
CROSSING = """
with sizes as (
  select total_blocks, usable_bytes + 8 as chunk, greatest(32, (requested_bytes + 23) // 16 * 16) as expected
  from site_sizes where requested_bytes <= 4096 and api in ('malloc', 'calloc'))
select sum(total_blocks) as blocks, coalesce(sum(total_blocks) filter (chunk > expected), 0) as larger,
  coalesce(sum(total_blocks) filter (floor(log2(chunk)) > floor(log2(expected))), 0) as crossing
from sizes"""


def crossing_blocks(folder: Path) -> str:
    """How often a block's octave isn't the one that follows from its request, in exact recordings."""
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True).stdout
    flags = ["-quiet", "-imultiarch", "x86_64-linux-gnu", "-D_GNU_SOURCE", "-o", "/dev/null"]
    programs = {
        "cc1plus": [compiler.strip(), *flags, str(ROOT / "bench/workloads/sampled_mix.cc")],
        "git log -p": ["git", "-C", str(ROOT), "log", "-p", "-n", "30", "--", "docs"],
        "python3": ["python3", "-c", "import json; [json.loads(json.dumps(list(range(i)))) for i in range(500)]"],
    }
    rows: list[list[str]] = []
    for name, command in programs.items():
        trace = folder / f"{len(rows)}.tare"
        tare = str(ROOT / ".venv/bin/tare")
        subprocess.run([tare, "run", "-q", "-o", trace, "--", *command], capture_output=True, check=True)
        done = subprocess.run([tare, "sql", trace, CROSSING, "--json"], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)[0]
        shares = [f"{found[key] / found['blocks']:.4%}" for key in ("larger", "crossing")]
        rows.append([name, f"{found['blocks']:,.0f}", *shares])
    return (
        "Blocks of up to 4 KiB that glibc made 16 bytes larger than their requests need, and those of them that thereby "
        "lie in another octave than the one that sampling decides by:\n\n"
        + table(["", "blocks", "16 bytes larger", "in the octave above"], rows)
    )


def lower_quartile(times: list[float]) -> float:
    return statistics.quantiles(times, n=4)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", action="append", metavar="NAME=PATH", help="may be repeated; else the installed")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    recorders = dict(each.split("=", 1) for each in options.recorder or [f"tare={installed_recorder()}"])
    results = Results("sampling_cost")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, interposer, spools = folder / "malloc_pairs", folder / "libempty.so", folder / "spools"
        spools.mkdir()
        workloads = ROOT / "bench/workloads"
        subprocess.run(["g++", "-O2", "-fno-builtin", workloads / "malloc_pairs.cc", "-o", program], check=True)
        empty = workloads / "empty_interposer.c"
        subprocess.run(["gcc", "-O2", "-fPIC", "-shared", empty, "-o", interposer], check=True)
        subjects: dict[str, dict[str, str]] = {"native": {}, "empty interposer": {"LD_PRELOAD": str(interposer)}}
        for recorder, path in recorders.items():
            for mode, environment in MODES.items():
                subjects[f"{recorder}, {mode}"] = environment | {"LD_PRELOAD": path}
        times: dict[str, list[float]] = {subject: [] for subject in subjects}
        for _ in range(options.runs):
            for subject, environment in subjects.items():
                times[subject].append(float(run([program, str(TIMED_PAIRS)], environment, spools)))
        rows = []
        floor_ns, floor_count = 0.0, 0.0
        for subject, environment in subjects.items():
            spent, count = lower_quartile(times[subject]), instructions(program, environment, spools)
            if subject == "empty interposer":
                floor_ns, floor_count = spent, count
            results.add("malloc, free", subject, "time", spent)
            results.add("malloc, free", subject, "instructions", count, "count")
            over = ["", ""] if floor_count == 0 else [f"{spent - floor_ns:+.1f}", f"{count - floor_count:+.0f}"]
            rows.append([subject, f"{spent:.1f}", f"{count:.0f}", *over])
    heads = ["", "ns a pair", "instructions", "ns over the empty interposer", "instructions over it"]
    text = (
        f"Eight sizes from 16 to 200 bytes in turn, glibc's malloc; the lower quartile of {options.runs} runs of "
        f"{TIMED_PAIRS:,} pairs.\n\n" + table(heads, rows)
    )
    with tempfile.TemporaryDirectory() as name:
        text += "\n" + crossing_blocks(Path(name))
    results.publish(text, whole=not options.dry_run)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
