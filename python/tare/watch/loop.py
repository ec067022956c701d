"""The watcher's life: rounds, requests by signal and socket, and the program that it may have started."""

from __future__ import annotations

import os
import selectors
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tare.watch import metrics
from tare.watch.socket import Answer, Server, as_json
from tare.watch.watcher import Clock

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from tare.watch.watcher import Watcher

POLL_S = 5.0
_SHARE = 0.02  # of a CPU that rounds may take: a longer round lengthens the pause after it
_LONGEST_PAUSE_S = 60.0  # so that the end of a process is found
_REQUESTS_APART_S = 1.0


def pause_s(poll_s: float, round_cpu_s: float) -> float:
    return max(poll_s, min(round_cpu_s / _SHARE, _LONGEST_PAUSE_S))


class Loop:
    def __init__(self, watcher: Watcher, poll_s: float, socket_path: str, clock: Clock | None = None) -> None:
        """`socket_path`: empty: no socket."""
        self._watcher = watcher
        self._poll_s = poll_s
        self._clock = clock or Clock()
        self._selector = selectors.DefaultSelector()
        self._server = Server(socket_path, self.handle, self._selector) if socket_path else None
        self._selector.register(watcher.alarms, selectors.EVENT_READ, self._alarm)
        self._stopping = False
        self._asked = False
        self._alarmed = False
        self._requested_s = -_REQUESTS_APART_S

    def run(self, program: subprocess.Popen[bytes] | None = None) -> None:
        """Until a signal ends it, or the program has ended."""
        with self._signals(program):
            next_s = soonest_s = self._clock.monotonic_s()
            while not self._stopping and (program is None or program.poll() is None):
                now_s = self._clock.monotonic_s()
                if self._asked:
                    self._asked = False
                    self._watcher.request("signal")
                if now_s >= next_s or (self._alarmed and now_s >= soonest_s):
                    self._alarmed = False
                    before_s = time.process_time()
                    self._watcher.round()
                    took_s, now_s = time.process_time() - before_s, self._clock.monotonic_s()
                    next_s, soonest_s = now_s + pause_s(self._poll_s, took_s), now_s + pause_s(0.0, took_s)
                self._wait(min(next_s, soonest_s) if self._alarmed else next_s)
        self._watcher.close()
        if self._server is not None:
            self._server.close()
        self._selector.close()

    def handle(self, method: str, path: str, query: dict[str, str]) -> Answer:
        allowed = {"/metrics": "GET", "/healthz": "GET", "/snapshot": "POST"}
        if path not in allowed:
            return Answer(404, f"there are {', '.join(allowed)}\n")
        if method != allowed[path]:
            return Answer(405, f"{path} needs {allowed[path]}\n")
        if path == "/metrics":
            return Answer(200, metrics.text(*self._watcher.figures()), metrics.CONTENT_TYPE)
        if path == "/healthz":
            return Answer(200, "ok\n")
        pid = query.get("pid", "0")
        if not (pid.isascii() and pid.isdecimal() and len(pid) <= 10):
            return Answer(400, "pid needs a number\n")
        now_s = self._clock.monotonic_s()
        if now_s - self._requested_s < _REQUESTS_APART_S:
            return Answer(429, "one request a second\n")
        self._requested_s = now_s
        names = self._watcher.request("http", int(pid))
        return as_json({"snapshots": names}) if names else Answer(503, "no snapshot was taken\n")

    def _alarm(self, _events: int, now_s: float) -> None:
        self._alarmed = self._watcher.alarm(now_s) or self._alarmed

    def _wait(self, next_s: float) -> None:
        now_s = self._clock.monotonic_s()
        until_s = next_s
        if self._server is not None and (soonest := self._server.next_timeout_s()) is not None:
            until_s = min(until_s, soonest)
        for key, events in self._selector.select(max(0.0, until_s - now_s)):
            key.data(events, self._clock.monotonic_s())
        if self._server is not None:
            self._server.drop_late(self._clock.monotonic_s())

    @contextmanager
    def _signals(self, program: subprocess.Popen[bytes] | None) -> Iterator[None]:
        """A signal wakes the selector; those that end commands go on to the program, if there is one."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(reading, selectors.EVENT_READ, lambda _events, _now_s: _emptied(reading))

        def stop(number: int, _frame: object) -> None:
            if program is None:
                self._stopping = True
            elif number != signal.SIGINT:  # the terminal sends Ctrl-C to both
                program.send_signal(number)

        def ask(_number: int, _frame: object) -> None:
            self._asked = True

        handlers: dict[int, Callable[[int, object], None]] = {
            signal.SIGTERM: stop,
            signal.SIGHUP: stop,
            signal.SIGINT: stop,
            signal.SIGUSR1: ask,
            signal.SIGCHLD: lambda _number, _frame: None,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.unregister(reading)
            os.close(reading)
            os.close(writing)


def _emptied(fd: int) -> None:
    try:
        while os.read(fd, 4096):
            pass
    except BlockingIOError:
        pass
