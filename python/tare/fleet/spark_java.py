"""Spark's Java process. It prints nothing to the terminal, and neither it nor its files stay behind the command, however that ends."""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import signal
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tare.fleet.spark_folders import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_END_S = 10.0  # of a Java process that stops its jobs and deletes its files; an idle one takes 1 s


class CanNotStart(Exception):
    """With Java's reason."""


class SparkJava:
    """Ends with this process, also by SIGTERM and SIGHUP. After SIGKILL, Java ends by itself and deletes the folder, if it has started
    by then; else `tare clean` does."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        # Java inherits the lock, so that it is held as long as either process may use the folder.
        self._lock = os.open(self._folder.name, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self._end)
        # A signal that nohup ignores stays ignored.
        _set({number: self._end_by for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL})

    @property
    def folder(self) -> str:
        """For Spark's files."""
        return self._folder.name

    def start(self, conf: Any) -> Any:
        """The gateway to the process. TARE_DEBUG leaves its messages on the terminal, but not among the command's output."""
        from pyspark.java_gateway import launch_gateway

        log = Path(self.folder, "log")
        with log.open("wb") as out, _signals_wait(), _temporary_files_in(self.folder):
            streams: dict[str, Any] = {"stdout": 2} if os.environ.get("TARE_DEBUG") else {"stdout": out, "stderr": out}
            try:
                gateway = launch_gateway(conf, streams | {"pass_fds": [self._lock]})
            except Exception as error:
                raise CanNotStart(_complaint(log)) from error
            self._process = gateway.proc
        files = gateway.jvm.java.io.File(self.folder)
        gateway.jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(files)
        return gateway

    def _end(self) -> None:
        """Java ends at the end of its input."""
        process = self._process
        if process is not None and process.stdin is not None:  # None: started by spark-submit, which ends it
            process.stdin.close()
            try:
                process.wait(_END_S)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                process.kill()
                process.wait()
        self._folder.cleanup()

    def _end_by(self, number: int, _frame: object) -> None:
        self._end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


@contextmanager
def _temporary_files_in(folder: str) -> Iterator[None]:
    """pyspark makes a folder for Java's answer, which would stay if this process is killed meanwhile."""
    before = tempfile.tempdir
    tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _signals_wait() -> Iterator[None]:
    """While Java starts: without this process it would go on and never end."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
    waited = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    _set(dict.fromkeys(waited, lambda number, _frame: came.append(number)))
    try:
        yield
    finally:
        _set(waited)
        for number in came:
            signal.raise_signal(number)


def _set(handlers: Mapping[Any, Any]) -> None:
    with suppress(ValueError):  # only the main thread has handlers
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _complaint(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    found = (line.strip() for line in lines if re.search(r"error|exception|no such file", line, re.IGNORECASE))
    return next(found, "")[:400]
