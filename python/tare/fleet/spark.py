"""A store read by Spark: the same tables and the same texts of SQL as with DuckDB."""

from __future__ import annotations

import os
import re
import shutil
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tare.errors import CORRUPT, QUERY, USAGE, TareError
from tare.fleet.facts import TABLES
from tare.fleet.store import COLUMNS, Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.fleet.store import Condition

LOCAL = "local[*]"
_TYPES = {"varchar[]": "array<string>", "map(varchar, varchar)": "map<string,string>", "varchar": "string"}
_DAMAGE = re.compile(r"FAILED_READ_FILE|PATH_NOT_FOUND|FileNotFound|not a Parquet file|CANNOT_READ_FILE")


class SparkStore(Store):
    def __init__(self, path: Path, where: Sequence[Condition], master: str) -> None:
        super().__init__(path.absolute(), where)
        self._master = master

    @cached_property
    def session(self) -> Any:
        """With the tables of the store as views."""
        session = _session(self._master)
        try:
            self._views(session)
        except Exception as error:
            raise self._error(error) from None
        return session

    def _views(self, session: Any) -> None:
        rows = _frame(session, COLUMNS, self.recording_rows())
        rows.createOrReplaceTempView("recordings")
        kept = rows.select("recording")
        for table, columns in TABLES.items():
            # With a given schema, a column that an older file lacks is null.
            reader = session.read.schema(ddl(columns)).option("basePath", str(self.path))
            found = reader.parquet(*(str(self.path / file) for file in self.files(table)))
            found = found.select([column.split()[0] for column in columns.split(", ")])
            if table == "sites":
                found = found.dropDuplicates(["site", "build_id"]).drop("recording")
            else:
                found = found.join(kept, "recording", "left_semi")
            found.createOrReplaceTempView(table)

    def table(self, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        _frame(self.session, columns, rows).createOrReplaceTempView(name)

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
    builder = SparkSession.builder.appName("tare fleet")
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
            raise TareError(
                USAGE, "fleet: missing Java: install Java 17 or later and set JAVA_HOME, or use --engine duckdb"
            )
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(master)
        for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
            builder = builder.config(name, "false")
        builder = builder.config("spark.log.level", "ERROR")
    try:
        session = builder.getOrCreate()
        session.conf.set("spark.sql.ansi.enabled", "true")
        session.conf.set("spark.sql.session.timeZone", "UTC")
    except Exception as error:
        raise TareError(USAGE, f"fleet: can't start a Spark session at {master}: {_reason(error)}") from None
    return session


def _frame(session: Any, columns: str, rows: Sequence[tuple[Any, ...]]) -> Any:
    """Spark doesn't take an integer for a double."""
    doubles = [kind == "double" for kind in re.findall(r"(?:^|, )\w+ (\w+)", columns)]
    converted = [
        tuple(float(value) if double and value is not None else value for value, double in zip(row, doubles, strict=True))
        for row in rows
    ]  # fmt: skip
    return session.createDataFrame(converted, ddl(columns))


def ddl(columns: str) -> str:
    """Columns of DuckDB as Spark's."""
    for name, other in _TYPES.items():
        columns = re.sub(rf"{re.escape(name)}(?![\w\[(])", other, columns)
    return columns


def _reason(error: Exception) -> str:
    return " ".join(str(error).split("JVM stacktrace")[0].split())[:400] or type(error).__name__
