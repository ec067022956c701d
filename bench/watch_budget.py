"""The distance at which `tare watch --budget` ends on real programs, with the narrowest distance that keeps the share.

Each program runs once with each fixed distance, a power of two, and with each share from a small distance on. A distance keeps a share if the
recorder's CPU time is at most the share of the process' CPU time and one second, as docs/watch.md promises. `make bench-watch_budget`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from harness.arguments import rounds_and_cases
from harness.machine import machine_description
from harness.results import Results, table
from hot_path import installed_recorder
from spine_cases import Case, git, sqlite
from tare import _core

JSON = """
import json, time
text = json.dumps([{"name": f"n{i}", "values": list(range(20)), "text": "x" * 200} for i in range(3000)])
while time.process_time() < 12:
    json.loads(text)
"""
FIRST = 4 << 10
DISTANCES = [FIRST << doublings for doublings in range(14)]
SHARES = (0.2, 0.5, 2.0)  # percent


def python() -> Case:
    return Case("python", "JSON read for 12 s of CPU time", [sys.executable, "-c", JSON])


PROGRAMS = {"python": python, "sqlite": sqlite, "git": git}


def newest_facts(folder: Path) -> dict[str, Any]:
    """Of the process that has used the most CPU time."""
    found = [_core.watch_facts(str(path)) for path in folder.glob("*.watch")]
    return max(found, key=lambda facts: float(facts["process_ns"]), default={"process_ns": 0, "recorder_ns": 0})


def run(case: Case, distance: int, share: float) -> tuple[dict[str, Any], float]:
    """Facts at the program's end, and the recorder's share in percent after the first second of CPU time."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        own = {"LD_PRELOAD": str(installed_recorder()), "TARE_WATCH": name, "TARE_WATCH_KEEP": "1"}
        limits = {"TARE_SAMPLE": str(distance), "TARE_BUDGET": f"cpu={share:g}%"}
        first = None
        with subprocess.Popen(
            case.command, env={**os.environ, **case.environment, **own, **limits}, stdout=subprocess.DEVNULL
        ) as program:
            while program.poll() is None:
                time.sleep(0.02)
                if first is None and (seen := newest_facts(folder))["process_ns"] >= 1e9:
                    first = seen
        if program.returncode != 0 or first is None:
            raise RuntimeError(f"{case.name}: status {program.returncode}, or less than a second of CPU time")
        last = newest_facts(folder)
    later = float(last["process_ns"] - first["process_ns"])
    return last, 100 * (last["recorder_ns"] - first["recorder_ns"]) / later if later > 0 else 0.0


def taken(facts: dict[str, Any]) -> float:
    """The recorder's share in percent, with the first second counted as used at the start."""
    return 100 * float(facts["recorder_ns"]) / (float(facts["process_ns"]) + 1e9)


def shown(distance: float) -> str:
    return f"{distance / (1 << 20):g}M" if distance >= 1 << 20 else f"{distance / 1024:g}K"


def main() -> int:
    runs, names = rounds_and_cases(__doc__, PROGRAMS, "program")
    results = Results("watch_budget")
    rows = []
    print(f"{date.today().isoformat()}, {machine_description()}, load {os.getloadavg()[0]:.1f}", flush=True)
    for name in names:
        case = PROGRAMS[name]()
        fixed = {}
        for distance in DISTANCES:
            fixed[distance] = taken(run(case, distance, 100)[0])
            if fixed[distance] <= SHARES[0]:
                break
        print(name, {shown(distance): f"{share:.2f} %" for distance, share in fixed.items()}, flush=True)
        for share in SHARES:
            narrowest = next((distance for distance, took in fixed.items() if took <= share), DISTANCES[-1])
            ends, took, after = [], [], []
            for _ in range(runs):
                facts, later = run(case, FIRST, share)
                ends.append(float(facts["sample_bytes"]))
                took.append(taken(facts))
                after.append(later)
                results.add(f"{name} {share:g}%", "budget", "final_ratio", ends[-1] / narrowest)
                results.add(f"{name} {share:g}%", "budget", "cumulative_ratio", took[-1] / share)
            rows.append(
                [
                    f"{name}, {share:g} %",
                    shown(narrowest),
                    " to ".join(dict.fromkeys([shown(min(ends)), shown(max(ends))])),
                    f"{max(ends) / narrowest:g}",
                    f"{max(took):.2f} %",
                    f"{max(after):.2f} %",
                ]
            )
            print(rows[-1], flush=True)
    results.publish(
        f"Each program starts at {shown(FIRST)}; of {runs} runs the largest shares. Narrowest: the first power of two that keeps the share "
        "without doubling. Share: the recorder's CPU time of the process' CPU time and one second.\n\n"
        + table(["program, share", "narrowest", "final", "times", "share", "after the first second"], rows)
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
