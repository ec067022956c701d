"""A store read by Spark: the same tables and the same texts of SQL as with DuckDB."""

from __future__ import annotations

import os
import re
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tare.errors import QUERY, USAGE, TareError
from tare.fleet.facts import TABLES
from tare.fleet.store import COLUMNS, Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.fleet.store import Condition

LOCAL = "local[*]"
_TYPES = {"varchar[]": "array<string>", "map(varchar, varchar)": "map<string,string>", "varchar": "string"}


class SparkStore(Store):
    def __init__(self, path: Path, where: Sequence[Condition], master: str) -> None:
        super().__init__(path.absolute(), where)
        self._master = master

    @cached_property
    def session(self) -> Any:
        """With the tables of the store as views."""
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise TareError(
                USAGE, "fleet: missing package pyspark: pip install 'heaptare[spark]', or use --engine duckdb"
            ) from None
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("tare fleet")
        if self._master.startswith("sc://"):
            builder = builder.remote(self._master)
        else:
            builder = builder.master(self._master).config("spark.ui.enabled", "false")
            builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
        try:
            session = builder.getOrCreate()
            session.conf.set("spark.sql.ansi.enabled", "true")
            session.conf.set("spark.sql.session.timeZone", "UTC")
            self._views(session)
        except Exception as error:
            raise TareError(USAGE, f"fleet: Spark can't start at {self._master}: {_reason(error)}") from None
        return session

    def _views(self, session: Any) -> None:
        rows = session.createDataFrame(self.recording_rows(), ddl(COLUMNS))
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
        self.session.createDataFrame(list(rows), ddl(columns)).createOrReplaceTempView(name)

    def literal(self, text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def answer(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        session = self.session
        try:
            found = session.sql(sql)
            return list(found.columns), [tuple(row) for row in found.collect()]
        except Exception as error:
            raise TareError(QUERY, f"fleet sql: {_reason(error)}") from None


def ddl(columns: str) -> str:
    """Columns of DuckDB as Spark's."""
    for name, other in _TYPES.items():
        columns = re.sub(rf"{re.escape(name)}(?![\w\[(])", other, columns)
    return columns


def _reason(error: Exception) -> str:
    return " ".join(str(error).split("\n\nJVM stacktrace")[0].split())[:400] or type(error).__name__
