"""Measures the time from a wheel to the first report of a real program, and prints all that a new user sees.

    tools/first_use.py dist/heaptare-*_x86_64.whl                     # records `git log` of this repository
    tools/first_use.py dist/heaptare-*_x86_64.whl -- ./app --its arguments

The steps are those of a new user: a fresh virtual environment, `pip install`, `tare run`, `tare report`. One run before
the measured ones fills pip's cache and the kernel's. Then the steps run three times, and each has its median. The
program's standard output goes nowhere.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from harness.machine import machine_description  # noqa: E402

RUNS = 3
GIT_LOG = ["git", "--no-pager", "-C", str(ROOT), "log", "--stat", "-n", "500"]


def steps(wheel: Path, program: list[str], folder: Path) -> dict[str, list[str]]:
    """The commands by their names, for a fresh environment in the folder."""
    tare = str(folder / "venv/bin/tare")
    trace = str(folder / "app.tare")
    pip = [str(folder / "venv/bin/pip"), "install", "--disable-pip-version-check", str(wheel)]
    return {
        "environment": [sys.executable, "-m", "venv", str(folder / "venv")],
        "pip install": pip,
        "tare run": [tare, "run", "-o", trace, "--", *program],
        "tare report": [tare, "report", trace],
    }


def run(wheel: Path, program: list[str], *, show: bool) -> dict[str, float]:
    """Seconds of each step."""
    seconds = {}
    with tempfile.TemporaryDirectory() as name:
        for step, command in steps(wheel, program, Path(name)).items():
            if show:
                print(f"\n$ {' '.join(command)}", flush=True)
            start = time.monotonic()
            # `tare run` prints its summary to the error output, and leaves the standard output to the program.
            hidden = subprocess.DEVNULL if step == "tare run" or not show else None
            subprocess.run(command, stdout=hidden, stderr=None if show else subprocess.DEVNULL, check=True)
            seconds[step] = time.monotonic() - start
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("program", nargs="*", help="after --; `git log` of this repository without it")
    options = parser.parse_args()
    # Neither this environment's packages nor its settings are a new user's.
    for variable in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        os.environ.pop(variable, None)
    program = options.program or GIT_LOG
    run(options.wheel.resolve(), program, show=True)
    measured = [run(options.wheel.resolve(), program, show=False) for _ in range(RUNS)]
    print(f"\n{date.today()}, {machine_description()}; {options.wheel.name}, {Path(program[0]).name}")
    for step in measured[0]:
        print(f"{step:12} {statistics.median(each[step] for each in measured):6.2f} s")
    print(f"{'in all':12} {statistics.median(sum(each.values()) for each in measured):6.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
