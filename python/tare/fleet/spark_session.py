"""Spark's session in this process."""

from __future__ import annotations

import logging
import os
import shutil
import signal
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any

from tare.errors import USAGE, TareError
from tare.fleet.spark_java import CanNotStart, SparkJava

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


def reason(error: BaseException) -> str:
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
    java = SparkJava()
    conf = SparkConf().setAppName("tare fleet").setMaster(master)
    conf.set("spark.sql.warehouse.dir", f"{java.folder}/warehouse")  # by default in the working directory
    conf.set("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        conf.setAll([("spark.local.dir", java.folder), *_LOCAL_SETTINGS.items()])
    before = signal.getsignal(signal.SIGINT)
    try:
        return SparkSession(SparkContext(conf=conf, gateway=java.start(conf)))
    except CanNotStart as error:
        raise _failure(str(error) or reason(error.__cause__ or error), master) from None
    except Exception as error:
        raise _failure(reason(error), master) from None
    finally:
        # The handler of pyspark calls Java by the connection whose call it interrupts.
        with suppress(ValueError):  # only the main thread has handlers
            signal.signal(signal.SIGINT, before)


def _failure(cause: str, master: str) -> TareError:
    advice = f"check --spark-master {master} and that Java is version 17 or later, or use --engine duckdb"
    return TareError(USAGE, f"fleet: can't start Spark: {cause}: {advice}")
