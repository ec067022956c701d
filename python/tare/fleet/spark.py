"""A store read by Spark: the same tables and statements as with DuckDB. Executors need neither Tare nor Python."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.errors import CORRUPT, QUERY, USAGE, TareError
from tare.fleet.facts import TABLES
from tare.fleet.store import COLUMNS, Store, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.fleet.store import Condition

LOCAL = "local[*]"
_TYPES = {"varchar[]": "array<string>", "map(varchar, varchar)": "map<string,string>", "varchar": "string"}
_DAMAGE = re.compile(r"FAILED_READ_FILE|PATH_NOT_FOUND|FileNotFound|not a Parquet file|CANNOT_READ_FILE")
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",  # an overflow or a division by zero is an error
    "spark.sql.session.timeZone": "UTC",
}
# The driver is the only process then. DuckDB's limit is 3 GB, too; Spark's default is 1 GB.
_LOCAL_SETTINGS = {"spark.driver.memory": "3g", "spark.ui.enabled": "false"}


class SparkStore(Store):
    def __init__(self, path: Path, where: Sequence[Condition], master: str) -> None:
        super().__init__(path.absolute(), where)
        self._master = master

    @cached_property
    def session(self) -> Any:
        """With the tables of the store as views."""
        recordings = self.recording_rows()  # before Spark starts: a filter may fit no recording
        session = _session(self._master)
        try:
            _small_table(session, "recordings", COLUMNS, recordings)
            for table, columns in TABLES.items():
                # With a given schema, a column that an older file lacks is null.
                files = [str(self.path / file) for file in self.files(table)]
                session.read.schema(ddl(columns)).parquet(*files).createOrReplaceTempView(f"stored_{table}")
                session.sql(view(table, f"stored_{table}")).createOrReplaceTempView(table)
        except Exception as error:
            raise self._error(error) from None
        return session

    def table(self, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        _small_table(self.session, name, columns, rows)

    def literal(self, text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def answer(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        session = self.session
        try:
            found = session.sql(sql, args=list(parameters)) if parameters else session.sql(sql)
            return list(found.columns), [tuple(row) for row in found.collect()]
        except Exception as error:
            raise self._error(error) from None

    def _error(self, error: Exception) -> TareError:
        reason = _reason(error)
        if _DAMAGE.search(str(error)):
            return TareError(CORRUPT, f"fleet: {reason}: run tare fleet verify {self.path}")
        return TareError(QUERY, f"fleet sql: {reason}")


def _session(master: str) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise TareError(
            USAGE, "fleet: missing package pyspark: pip install 'heaptare[spark]', or use --engine duckdb"
        ) from None
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise TareError(
            USAGE, "fleet: missing Java: install Java 17 or later and set JAVA_HOME, or use --engine duckdb"
        )
    log = (Path(__file__).parent / "spark_log.properties").as_uri()
    builder = SparkSession.builder.appName("tare fleet").master(master)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log}")
    if master.startswith("local"):
        for name, value in _LOCAL_SETTINGS.items():
            builder = builder.config(name, value)
    try:
        session = builder.getOrCreate().newSession()  # two stores in a process don't share views
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
    except Exception as error:
        raise TareError(USAGE, f"fleet: can't start a Spark session at {master}: {_reason(error)}") from None
    return session


def _small_table(session: Any, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """As JSON in a statement's argument: createDataFrame starts Python on the executors, or needs pyarrow and pandas here."""
    fields = ddl(columns)
    text = json.dumps([dict(zip(_names(fields), row, strict=True)) for row in rows])
    # Without backslashes and quotes: Spark 4.3 puts arguments into the statement's text.
    encoded = base64.b64encode(text.encode()).decode()
    made = session.sql(
        f"select inline(from_json(decode(unbase64(:made), 'utf-8'), 'array<struct<{fields}>>', map('mode', 'FAILFAST')))",
        args={"made": encoded},
    )
    made.createOrReplaceTempView(name)


def ddl(columns: str) -> str:
    """Columns of DuckDB as Spark's."""
    for name, other in _TYPES.items():
        columns = re.sub(rf"{re.escape(name)}(?![\w\[(])", other, columns)
    return columns


def _names(fields: str) -> list[str]:
    return [field.split()[0] for field in fields.split(", ")]


def _reason(error: Exception) -> str:
    return " ".join(str(error).split("JVM stacktrace")[0].split())[:400] or type(error).__name__
