"""What `tare run --budget` keeps on real programs: the CPU share, and the space of all traces.

Each program runs with each CPU share and each limit on disk, from a small distance between samples on. `make bench-run_budget`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from harness.arguments import rounds_and_cases
from harness.machine import machine_description
from harness.results import Results, table
from spine_cases import Case
from watch_budget import FIRST, PROGRAMS, shown

TARE = str(Path(sys.executable).with_name("tare"))
LIMITS = ("cpu=0.2%", "cpu=0.5%", "cpu=2%", "disk=256K", "disk=1M", "disk=8M")


def recorded(case: Case, options: list[str]) -> tuple[dict[str, Any], int]:
    """The report of the process that allocated the most, and the bytes of all traces."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        trace = Path(name) / "t"
        command = [TARE, "run", "-q", *options, "-o", str(trace), "--", *case.command]
        subprocess.run(command, env={**os.environ, **case.environment}, stdout=subprocess.DEVNULL, check=True)
        files = list(trace.parent.iterdir())
        reports = []
        for path in files:
            if path.name.endswith(".short") or not path.is_file():
                continue
            text = subprocess.run(
                [TARE, "report", str(path), "--json"], capture_output=True, text=True, check=True
            ).stdout
            reports.append(json.loads(text))
        size = sum(path.stat().st_size for path in files)
    return max(reports, key=lambda report: float(report["total"]["requested_bytes"])), size


def main() -> int:
    runs, names = rounds_and_cases(__doc__, PROGRAMS, "program")
    results = Results("run_budget")
    rows = []
    print(f"{date.today().isoformat()}, {machine_description()}, load {os.getloadavg()[0]:.1f}", flush=True)
    for name in names:
        case = PROGRAMS[name]()
        for limit in LIMITS:
            found = [recorded(case, ["--sample", str(FIRST), "--budget", limit]) for _ in range(runs)]
            shares = [100 * r["recorder_cpu_ns"] / (r["process_cpu_ns"] + 1e9) for r, _ in found]
            ends = [r["sample_bytes"] << r["sample_doublings"] for r, _ in found]
            stops = sum(r["sampling_stopped_by"] is not None for r, _ in found)
            if limit.startswith("cpu"):
                results.add(f"{name} {limit}", "budget", "share_ratio", max(shares) / float(limit[4:-1]), unit="ratio")
            results.add(f"{name} {limit}", "budget", "bytes", float(max(size for _, size in found)))
            rows.append(
                [
                    f"{name}, {limit}",
                    f"{max(shares):.2f} %",
                    f"{max(size for _, size in found) / 1024:.0f} KiB",
                    shown(max(ends)),
                    f"{stops} of {runs}",
                ]
            )
            print(rows[-1], flush=True)
    results.publish(
        f"Each program starts at {shown(FIRST)}; of {runs} runs the largest share, size and distance. Share: the recorder's CPU time of the process' "
        "CPU time and one second.\n\n" + table(["program, limit", "share", "traces", "final", "stopped"], rows)
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
