"""Records twelve programs whose memory is mostly not malloc's, and writes the parts of each account to docs/account.md.

Of the processes of a recording the one with the greatest peak RSS is judged. While it runs, this script reads its
`/proc/PID/smaps_rollup` every 20 ms: the parts that the launcher read must add up to the RSS that the kernel had summed up
nearest to that time.

`.venv/bin/python bench/account.py`, or `... --case git --case php`. A program that isn't installed is left out, and named.
`tools/bootstrap.sh account` installs the programs; numpy and pandas come from PyPI. It must run as root, because PostgreSQL refuses root and gets
another user. Status 1: parts and rollup differ by more than 5 %.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path
from typing import NamedTuple

from account_programs import NOBODY, programs
from field_programs import Program, ready
from harness.machine import machine_description
from harness.measure import ROOT
from tare.analysis.account import Account, account
from tare.analysis.recording import Recording
from tare.source.core_source import CoreSource
from tare.text.units import human_bytes, percent

SCRATCH = Path("/tmp/tare-account")
PAGE = ROOT / "docs/account.md"
PARTS = ("blocks", "free in the allocator", "own mappings", "files", "shared memory", "stacks", "other")
PERIOD_S = 0.02
MOST_OFF = 0.05


class Row(NamedTuple):
    program: Program
    process: str  # the judged one
    found: Account
    off: float | None  # of the reading against smaps_rollup; None: the reading was used by no part, or none was near


class Rollups(threading.Thread):
    """The RSS of all processes that a recording started, over time."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.seen: dict[int, list[tuple[int, int]]] = {}  # by process: nanoseconds since 1970, bytes
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(PERIOD_S):
            for pid in self._descendants():
                try:
                    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                except OSError:
                    continue
                if "\nRss:" in text:
                    self.seen.setdefault(pid, []).append(
                        (time.time_ns(), int(text.split("\nRss:")[1].split()[0]) * 1024)
                    )

    def _descendants(self) -> list[int]:
        parents = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        found, more = [], [self.root]
        while more:
            more = [pid for pid, parent in parents.items() if parent in more]
            found += more
        return found

    def near(self, pid: int, time_ns: int) -> int | None:
        """The RSS between the two samples around that time; None where it changes by more than 2 % between them."""
        samples = self.seen.get(pid, [])
        before = [one for one in samples if one[0] <= time_ns]
        after = [one for one in samples if one[0] > time_ns]
        if not before or not after:
            return None
        (begin, low), (end, high) = before[-1], after[0]
        if abs(high - low) > 0.02 * high:
            return None
        return round(low + (high - low) * (time_ns - begin) / (end - begin))


def record(program: Program, command: list[str]) -> Row | None:
    folder = SCRATCH / program.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recorder = [str(ROOT / ".venv/bin/tare"), "run", "-q", "-o", str(folder / "trace.tare"), "--"]
    if program.name == "postgres":
        shutil.chown(folder, "nobody", "nogroup")
        recorder = [*NOBODY, *recorder]
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(
            [*recorder, *command],
            cwd=folder,
            env={**os.environ, "HOME": str(folder), **program.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as running,
    ):
        rollups = Rollups(running.pid)
        rollups.start()
        if program.client:
            program.client(folder)
        running.wait(timeout=600)
        rollups.over.set()
        rollups.join()
    rows = [
        row
        for file in folder.glob("trace.tare*")
        if file.suffix != ".short" and (row := judged(program, file, rollups))
    ]
    return max(rows, key=lambda row: row.found.peak_rss_bytes, default=None)


def judged(program: Program, file: Path, rollups: Rollups) -> Row | None:
    recording = Recording(CoreSource(str(file)))
    found = account(recording)
    if found is None:
        return None
    process = recording.process
    off = None
    if process["rss_read_ns"] is not None:
        kinds = ("heap", "mapping", "file", "shared", "stack", "other", "recorder")
        read = sum(process[f"rss_{kind}_bytes"] for kind in kinds)
        rss = rollups.near(process["pid"], process["start_realtime_ns"] + process["rss_read_ns"])
        off = read / rss - 1 if rss else None
    return Row(program, process["program"], found, off)


def cells(row: Row) -> list[str]:
    whole = row.found.peak_rss_bytes
    sizes = {part.name: part for part in row.found.parts}
    shown = []
    for name in PARTS:
        part = sizes.get(name)
        mark = "" if part is None or part.most_bytes - part.least_bytes < 0.01 * whole else "~"
        shown.append(f"{mark}{percent(part.bytes, whole, 0)}" if part else "")
    off = "" if row.off is None else f"{100 * row.off:+.1f}%"
    return [row.program.name, row.process, human_bytes(whole), *shown, percent(row.found.unexplained_bytes, whole), off]


def write(rows: list[Row], missing: list[str]) -> None:
    head = ["program", "process", "peak RSS", *PARTS, "unexplained", "against rollup"]
    lines = [
        "# The account of twelve programs",
        "",
        f"Written by `bench/account.py` on {date.today().isoformat()}: {machine_description()}.",
        "",
        "Each program was recorded by `tare run` without further options. The row is of the process with the greatest peak RSS. Shares are of the peak RSS",
        "without the recorder's memory. `~`: the bounds are more than 1 % of the peak RSS apart. *against rollup*: the parts of the launcher's reading, the",
        "recorder's included, against `/proc/PID/smaps_rollup`, which the script reads every 20 ms; empty where the RSS",
        "changed by more than 2 % between the samples around the reading.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(cells(row)) + " |" for row in rows),
        "",
        *(f"- {row.program.name}: {row.program.work}." for row in rows),
    ]
    if missing:
        lines += ["", f"Not installed, or not recorded: {', '.join(missing)}."]
    PAGE.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", help="only this program; may be repeated; the page isn't written")
    options = parser.parse_args()
    rows, missing = [], []
    for program in programs():
        if options.case and program.name not in options.case:
            continue
        command = ready(program, None)
        row = record(program, command) if command else None
        if row is None:
            missing.append(program.name)
            print(f"{program.name}: not installed, or not recorded", file=sys.stderr)
            continue
        print(*cells(row), sep=" | ", flush=True)
        rows.append(row)
    if not options.case:
        write(rows, missing)
    return 1 if any(row.off is not None and abs(row.off) > MOST_OFF for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
