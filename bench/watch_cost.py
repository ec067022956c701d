"""The cost of watching: instructions and ns of calls that aren't sampled and of sampled ones, memory, and the file on the disk.

A pair of malloc and free is counted and timed as in bench/sampling_cost.py. With a sample at each byte every call is sampled: half of such a pair is
a sampled event. `--before PATH` adds another build's recorder where nothing is sampled.

`make bench-watch-cost`.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness.measure import ROOT
from harness.results import Results, table
from hot_path import installed_recorder
from sampling_cost import instructions, lower_quartile, run

TIMED_PAIRS = 1_000_000
SAMPLED_PAIRS = 100_000
# Holds 200,000 objects of 1,000 bytes, and makes and drops as many again.
HOLDING = """
import os, sys
held = [bytearray(1000) for _ in range(200_000)]
for i in range(200_000):
    held[i] = bytearray(1000)
os.kill(os.getpid(), 9)
"""


def peak_of(environment: dict[str, str]) -> int:
    """Peak resident KiB of a Python that holds 200 MB."""
    process = subprocess.Popen(["python3", "-c", HOLDING], env=os.environ | environment)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return int(resource.struct_rusage(usage).ru_maxrss)


def held_on_disk(folder: Path) -> list[int]:
    """Bytes on the disk of each watch file, which goes."""
    found = []
    for path in folder.glob("*.watch"):
        found.append(path.stat().st_blocks * 512)
        path.unlink()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="PATH", help="libtare-record.so of another build")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    recorder = str(installed_recorder())
    results = Results("watch_cost")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        program, spools, files = folder / "malloc_pairs", folder / "spools", folder / "files"
        spools.mkdir()
        files.mkdir()
        subprocess.run(
            ["g++", "-O2", "-fno-builtin", ROOT / "bench/workloads/malloc_pairs.cc", "-o", program], check=True
        )
        own = {"LD_PRELOAD": recorder, "TARE_SPOOL_DIR": ""}
        sampled = {"LD_PRELOAD": recorder, "TARE_SAMPLE_BYTES": str(512 << 10)}
        subjects: dict[str, tuple[dict[str, str], int]] = {"native": ({}, TIMED_PAIRS)}
        if options.before:
            subjects["--sample 512K, before"] = (sampled | {"LD_PRELOAD": options.before}, TIMED_PAIRS)
        subjects["--sample 512K"] = (sampled, TIMED_PAIRS)
        watching = own | {"TARE_WATCH": str(files)}
        subjects["watched, 512K"] = (watching, TIMED_PAIRS)
        subjects["watched, every call"] = (watching | {"TARE_SAMPLE": "1"}, SAMPLED_PAIRS)
        times: dict[str, list[float]] = {subject: [] for subject in subjects}
        for _ in range(options.runs):
            for subject, (environment, pairs) in subjects.items():
                times[subject].append(float(run([program, str(pairs)], environment, spools)))
        rows = []
        for subject, (environment, _) in subjects.items():
            spent, count = lower_quartile(times[subject]), instructions(program, environment, spools)
            results.add("malloc, free", subject, "time", spent)
            results.add("malloc, free", subject, "instructions", count, "count")
            rows.append([subject, f"{spent:,.1f}", f"{count:,.0f}"])
        text = (
            f"A pair of malloc and free, glibc's; the lower quartile of {options.runs} runs. Of the last row, each pair is two "
            "sampled events, called from main.\n\n" + table(["", "ns a pair", "instructions"], rows)
        )
        rows = []
        plain = statistics.median(peak_of({}) for _ in range(5))
        for distance in ("512K", "64K", "8K"):
            environment = own | {"TARE_WATCH": str(files), "TARE_SAMPLE": distance}
            peaks, disk = [], []
            for _ in range(5):
                peaks.append(peak_of(environment))
                disk += held_on_disk(files)
            added, held = statistics.median(peaks) - plain, statistics.median(disk)
            results.add("python3, 200 MB", distance, "rss", added * 1024)
            results.add("python3, 200 MB", distance, "bytes", held)
            rows.append([distance, f"{added:,.0f}", f"{held / 1024:,.0f}"])
        text += (
            f"\npython3 with 200,000 bytearrays of 1,000 bytes, each replaced once, without tare {plain / 1024:,.0f} MiB at its peak; "
            "medians of 5 runs. Pages of the file are among the resident ones.\n\n"
            + table(["distance", "peak RSS added (KiB)", "file on the disk (KiB)"], rows)
        )
    results.publish(text, whole=not options.dry_run)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
