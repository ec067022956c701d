"""Spark's session in this process. Its Java process prints nothing to the terminal, and ends with this process."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tare.errors import USAGE, TareError

LOCAL = "local[*]"
# The driver is the only process then. DuckDB's limit is 3 GB, too; Spark's default is 1 GB. No other machine connects to it.
_LOCAL_SETTINGS = {
    "spark.driver.memory": "3g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",  # an overflow or a division by zero is an error
    "spark.sql.session.timeZone": "UTC",
}
_END_S = 10.0  # of a Java process that stops its jobs and deletes its files; an idle one takes 1 s


def start(master: str) -> Any:
    """A session without views. All sessions of a process have one Java process and one master."""
    session = _first(master).newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    return session


def missing() -> str:
    """A package that Spark needs and that isn't installed, and how to get it; else empty."""
    if find_spec("pyspark") is None:
        return "missing package pyspark: pip install 'heaptare[spark]'"
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        where = f" in JAVA_HOME={home}" if home else ""
        return f"missing Java{where}: install Java 17 or later and set JAVA_HOME"
    return ""


def reason(error: Exception) -> str:
    """Without Java's stack, as one line."""
    return " ".join(str(error).split("JVM stacktrace")[0].split())[:400] or type(error).__name__


@cache
def _first(master: str) -> Any:
    if lack := missing():
        raise TareError(USAGE, f"fleet: {lack}, or use --engine duckdb")
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # py4j logs each interrupted call by the root logger, which prints to standard error if it has no handler.
    logging.getLogger().addHandler(logging.NullHandler())
    scratch = TemporaryDirectory(prefix="tare-spark-", ignore_cleanup_errors=True)
    conf = SparkConf().setAppName("tare fleet").setMaster(master)
    conf.set("spark.sql.warehouse.dir", f"{scratch.name}/warehouse")  # by default in the working directory
    conf.set("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        conf.setAll([("spark.local.dir", scratch.name), *_LOCAL_SETTINGS.items()])
    interrupts = _Interrupts()
    try:
        gateway = _launch(conf, scratch, master)
        interrupts.raise_waiting()
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        raise error if isinstance(error, TareError) else _failure(reason(error), master) from None
    finally:
        interrupts.restore()


class _Interrupts:
    """Ctrl-C waits while Java starts: without this process it would go on and never end. Then Python's own handler is in place: pyspark's
    handler calls Java by the connection whose call it interrupts."""

    def __init__(self) -> None:
        self._waiting = False
        self._before = signal.getsignal(signal.SIGINT)
        self._set(self._wait)

    def raise_waiting(self) -> None:
        self.restore()
        if self._waiting:
            raise KeyboardInterrupt

    def restore(self) -> None:
        self._set(self._before)

    def _wait(self, *_: object) -> None:
        self._waiting = True

    def _set(self, handler: Any) -> None:
        with suppress(ValueError):  # only the main thread has handlers
            signal.signal(signal.SIGINT, handler)


def _launch(conf: Any, scratch: TemporaryDirectory[str], master: str) -> Any:
    """Starts Java. TARE_DEBUG leaves its messages on the terminal, but not among the command's output."""
    from pyspark.java_gateway import launch_gateway

    log = Path(scratch.name, "log")
    with log.open("wb") as out:
        streams: dict[str, Any] = {"stdout": 2} if os.environ.get("TARE_DEBUG") else {"stdout": out, "stderr": out}
        try:
            gateway = launch_gateway(conf, streams)
        except Exception as error:
            raise _failure(_complaint(log) or reason(error), master) from None
    atexit.register(_end, gateway.proc, scratch)
    return gateway


def _failure(cause: str, master: str) -> TareError:
    advice = f"check --spark-master {master} and that Java is version 17 or later, or use --engine duckdb"
    return TareError(USAGE, f"fleet: can't start Spark: {cause}: {advice}")


def _complaint(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    found = (line.strip() for line in lines if re.search(r"error|exception|no such file", line, re.IGNORECASE))
    return next(found, "")[:400]


def _end(process: subprocess.Popen[bytes] | None, scratch: TemporaryDirectory[str]) -> None:
    """Java ends at the end of its input. The wait leaves neither a process nor files behind the command."""
    if process is not None and process.stdin is not None:  # None: started by spark-submit, which ends it
        process.stdin.close()
        try:
            process.wait(_END_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
    scratch.cleanup()
