"""Exact recordings that triggers start: `tare attach` for a while, one at a time (--exact)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tare.watch import snapshots
from tare.watch.store import TEMPORARY

if TYPE_CHECKING:
    from tare.watch.reader import Facts
    from tare.watch.store import Store
    from tare.watch.watcher import Clock

_GRACE_S = 120.0  # for attaching, detaching and writing


class ExactRecordings:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: subprocess.Popen[bytes] | None = None
        self._name = self._temporary = ""
        self._pid = 0
        self._until_s = 0.0

    def start(self, visible_pid: int, facts: Facts, store: Store, clock: Clock) -> list[str]:
        """Nothing while another one runs: a second would slow down the first's program or machine."""
        if self._running is not None:
            return []
        now_ms = clock.realtime_ns() // 1_000_000
        self._name = snapshots.name_of(facts.program, facts.image, now_ms, "exact", facts.live_bytes)
        self._temporary = f"{TEMPORARY}{os.getpid()}-exact"
        self._pid = visible_pid
        self._until_s = clock.monotonic_s() + self._seconds + _GRACE_S
        out = f"/proc/{os.getpid()}/fd/{store.fd}/{self._temporary}"
        command = [
            sys.executable,
            "-m",
            "tare",
            "attach",
            str(visible_pid),
            "-q",
            "--for",
            str(self._seconds),
            "-o",
            out,
        ]
        try:
            self._running = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        except OSError as error:
            return [f"no exact recording of process {visible_pid}: {error.strerror}"]
        return []

    def poll(self, store: Store, now_s: float) -> list[str]:
        """Failures, as lines."""
        if self._running is None:
            return []
        status = self._running.poll()
        if status is None and now_s < self._until_s:
            return []
        if status is None:
            self._running.kill()
            self._running.wait()
        lines = self._lines()
        self._running = None
        if status == 0:
            try:
                os.rename(self._temporary, self._name, src_dir_fd=store.fd, dst_dir_fd=store.fd)
                return []
            except OSError as error:
                return [f"{store.shown}/{self._name}: {error.strerror}"]
        why = "it didn't end in time" if status is None else lines or f"`tare attach` ended with status {status}"
        return [f"no exact recording of process {self._pid}: {why}"]

    def _lines(self) -> str:
        """The first line that it printed. It prints few, so that they fit into the pipe."""
        stream = self._running.stderr if self._running else None
        if stream is None:
            return ""
        os.set_blocking(stream.fileno(), False)  # a child of it may have the pipe, too
        with stream:
            text = (stream.read(4096) or b"").decode("utf-8", "replace")
        return text.partition("\n")[0].removeprefix("tare: ")

    def stop(self) -> None:
        """At the watcher's end: the recording detaches and its program runs on. The next watcher deletes what it wrote."""
        if self._running is not None:
            self._running.terminate()
            self._running.wait()
            self._running = None
