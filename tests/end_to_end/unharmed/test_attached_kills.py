"""Killed programs, killed launchers, and both, again and again: programs work on, traces are readable, and nothing is left in memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Build, Tare

ROUNDS = int(os.environ.get("TARE_KILLS", "100"))
pytestmark = pytest.mark.nightly
SOURCE = Path(__file__).parent.parent / "programs" / "unprepared.cc"
LIMITS = ["--max-size", "1M", "--rotate", "2"]


def folders(tare: Tare) -> set[Path]:
    """Of recordings in shared memory, whose parent is a folder of this test."""
    return set((tare.folder / "spools").glob("tare-*"))


def recording_of(pid: int) -> set[str]:
    """Spools that a process maps, those of recordings whose launcher was killed included."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[5] for line in lines if ".spool" in line}


def new_recordings(pid: int, before: set[str]) -> set[str]:
    return recording_of(pid) - before


def wait_until(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


class Running:
    """The program, started anew when it was killed. Each of its rounds is compared with its first."""

    def __init__(self, built: Path, stop: Path) -> None:
        self._command = [str(built), "20000", "2", "1", str(stop)]
        self._stop = stop
        self.expected = subprocess.run([*self._command[:-1], "/"], capture_output=True, text=True, check=True).stdout
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)

    def finish(self) -> None:
        self._stop.touch()
        assert self.process.communicate(timeout=120)[0] == self.expected
        assert self.process.returncode == 0


def test_kills(tare: Tare, build: Build) -> None:
    (tare.folder / "spools").mkdir()
    environment = {**os.environ, "TARE_SPOOL_PARENT": str(tare.folder / "spools")}
    chance = random.Random(1)
    running = Running(build(str(SOURCE)), tare.folder / "stop")
    events = dict.fromkeys(("program", "launcher", "both"), 0)
    try:
        for number in range(ROUNDS):
            before = recording_of(running.process.pid)
            command = [tare.command, "attach", str(running.process.pid), "-q", "-o", "k.tare", *LIMITS]
            launcher = subprocess.Popen(command, cwd=tare.folder, env=environment, stderr=subprocess.PIPE, text=True)
            wait_until(f"{number}: a recording", partial(new_recordings, running.process.pid, before))
            time.sleep(chance.random())
            which = chance.choice(list(events))
            if which != "launcher":
                running.process.kill()
            if which != "program":
                launcher.kill()
            if which != "launcher":
                running.process.communicate(timeout=60)
            _, messages = launcher.communicate(timeout=60)
            assert launcher.returncode == (0 if which == "program" else -signal.SIGKILL), (number, messages)
            if which == "launcher":
                assert running.process.poll() is None, number
            assert (tare.folder / "k.tare").exists()
            traces = sorted(tare.folder.glob("k.tare*"))
            for trace in traces:
                if trace.suffix == ".new":
                    continue  # the next segment, which a killed launcher hadn't put in its place
                (facts,) = tare.sql(trace, "select alloc_events, impossible_events from process")
                assert facts["impossible_events"] == 0, (number, which, trace, facts)
                events[which] += facts["alloc_events"]
            for trace in traces:
                trace.unlink()
            if which != "launcher":
                running.start()
        assert all(count > 0 for count in events.values()) or ROUNDS < 20, events
        done = tare("attach", str(running.process.pid), "-q", "-o", "last.tare", "--for", "0.5", env=environment)
        assert done.returncode == 0, done.stderr
        running.finish()
    finally:
        with suppress(ProcessLookupError):
            running.process.kill()
        running.process.wait()
    assert tare("clean", env=environment).returncode == 0
    assert not folders(tare)
