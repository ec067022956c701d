"""A store read by Spark: the same tables and statements as with DuckDB. Executors need neither Tare nor Python."""

from __future__ import annotations

import base64
import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tare.errors import CORRUPT, QUERY, TareError
from tare.fleet import remote
from tare.fleet.facts import TABLES
from tare.fleet.spark_session import reason, start
from tare.fleet.store import COLUMNS, Store, view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.fleet.store import Condition

_TYPES = {"varchar[]": "array<string>", "map(varchar, varchar)": "map<string,string>", "varchar": "string"}
_DAMAGE = re.compile(r"FAILED_READ_FILE|PATH_NOT_FOUND|FileNotFound|not a Parquet file|CANNOT_READ_FILE")


class SparkStore(Store):
    def __init__(self, path: Path, where: Sequence[Condition], master: str) -> None:
        super().__init__(path, where)
        self._master = master

    @cached_property
    def session(self) -> Any:
        """With the tables of the store as views."""
        recordings = self.recording_rows()  # before Spark starts: a filter may fit no recording
        files = {table: [_location(self.path / file) for file in self.files(table)] for table in TABLES}
        session = start(self._master)
        try:
            _small_table(session, "recordings", COLUMNS, recordings)
            for table, columns in TABLES.items():
                # With a given schema, a column that an older file lacks is null.
                session.read.schema(ddl(columns)).parquet(*files[table]).createOrReplaceTempView(f"stored_{table}")
                session.sql(view(table, f"stored_{table}")).createOrReplaceTempView(table)
        except Exception as error:
            raise self._error(error) from None
        return session

    def table(self, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        session = self.session
        try:
            _small_table(session, name, columns, rows)
        except Exception as error:
            raise self._error(error) from None

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
        if _DAMAGE.search(str(error)):
            return TareError(CORRUPT, f"fleet: {reason(error)}: run tare fleet verify {self.path}")
        return TareError(QUERY, f"fleet sql: {reason(error)}")


def _location(file: Path) -> str:
    """In the file system of each machine, which isn't a cluster's default. Spark reads paths as patterns."""
    if remote.is_remote(file):
        return re.sub(r"^s3:", "s3a:", str(file))  # Hadoop's name
    return "file://" + re.sub(r"([{}\[\]*?\\])", r"\\\1", str(file.absolute()))


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
