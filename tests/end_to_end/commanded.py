"""Programs that do what they're told (programs/commanded.c) while they are recorded, and what tests ask of the recordings."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Tare


class Commanded:
    """commanded.c, which does what it's told, and the process that records it, if there is one."""

    def __init__(self, process: subprocess.Popen[str], pid: int) -> None:
        self.process = process
        self.pid = pid

    def tell(self, *lines: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n"

    def end(self) -> str:
        """Its stderr."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stderr is not None
        errors = self.process.stderr.read()
        assert self.process.wait(timeout=120) == 0, errors
        return errors


@contextmanager
def started(
    command: list[str | Path], folder: Path, environment: dict[str, str] | None = None, *, recorded: bool
) -> Iterator[Commanded]:
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        commanded = Commanded(process, process.pid)
        commanded.tell("nothing")
        if recorded:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            commanded.pid = int(children[0])
        yield commanded
    finally:
        process.kill()
        process.wait()


@contextmanager
def recorded_by_run(tare: Tare, program: Path, *options: str) -> Iterator[Commanded]:
    command = [tare.command, "run", "-q", "-o", "t.tare", *options, "--", program]
    with started(command, tare.folder, recorded=True) as commanded:
        yield commanded


@contextmanager
def asleep(tare: Tare, program: Path) -> Iterator[Commanded]:
    library = tare("attach", "--library").stdout.strip()
    environment = {"LD_PRELOAD": library, "TARE_START_PAUSED": "1"}
    with started([program], tare.folder, environment, recorded=False) as commanded:
        wait_until_mapped(commanded, "/libtare-record.so")
        yield commanded


def wait_until_mapped(commanded: Commanded, path: str) -> None:
    """A program that was just started has nothing but itself: its loader works on."""
    deadline = time.monotonic() + 60
    while path not in Path(f"/proc/{commanded.pid}/maps").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def succeed(tare: Tare, *arguments: str | int) -> str:
    done = tare(*map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks_of(tare: Tare, trace: Path, requested: int) -> dict[str, float]:
    (row,) = tare.sql(
        trace,
        "select coalesce(sum(total_blocks), 0) as total, coalesce(sum(end_blocks), 0) as live from site_sizes"
        f" where requested_bytes = {requested}",
    )
    return row


def facts(tare: Tare, trace: Path) -> dict[str, int]:
    (row,) = tare.sql(trace, "select impossible_events, dropped_events, pre_existing_frees, paused_ns from process")
    return row


def wait_until_awake(commanded: Commanded) -> None:
    """It starts with the first allocation after it was told to: until its spool is mapped."""
    deadline = time.monotonic() + 60
    while "/tare-" not in Path(f"/proc/{commanded.pid}/maps").read_text():
        assert time.monotonic() < deadline
        commanded.tell("make 1 4321")
        time.sleep(0.02)
