"""DuckDB holding a recording's tables; each is loaded when a statement first needs it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from tare import schema
from tare.errors import QUERY, TareError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb


class TableSource(Protocol):
    """Who makes tables: the core for a trace, a test by hand."""

    def load(self, table: schema.Table, into: Database) -> None:
        """Creates `table` in the database and fills it."""


class Database:
    """One in-memory DuckDB a recording."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._loaded: set[str] = set()
        self._connection: duckdb.DuckDBPyConnection | None = None

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = _engine().connect(":memory:", config=_settings())
        return self._connection

    def use(self, *names: str) -> None:
        """Makes sure that the tables are there."""
        for name in names:
            if name not in self._loaded:
                self._source.load(schema.BY_NAME[name], self)
                self._loaded.add(name)

    def forget(self, *names: str) -> None:
        """Drops tables that depend on an option which changed (`sites` on the depth, `site_sizes` on the time)."""
        for name in names:
            if name in self._loaded:
                self.connection.execute(f"drop table {name}")
                self._loaded.discard(name)

    def run(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        self.connection.execute(sql, parameters)

    def rows(self, sql: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Sequence[Any] | None = None) -> tuple[Any, ...]:
        return self.rows(sql, parameters)[0]

    def records(self, sql: str, parameters: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        cursor = self.connection.execute(sql, parameters)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def ask(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """A user's statement: its column names and rows; what is wrong with it as one line."""
        try:
            cursor = self.connection.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return names, cursor.fetchall() if names else []
        except _engine().Error as error:
            raise _query_error(error) from None

    def statements(self, sql: str) -> list[str]:
        """A user's text as single statements: what stands between semicolons that no quotes or comments hold."""
        try:
            return [statement.query for statement in self.connection.extract_statements(sql)]
        except _engine().Error as error:
            raise _query_error(error) from None

    def fill(self, table: schema.Table, rows: Iterable[Sequence[Any]]) -> None:
        """Creates a table from rows of Python values: for tables the front end makes, and for tests."""
        self.run(table.ddl())
        with self.connection.appender(table.name) as appender:
            appender.append_rows(rows)


def _query_error(error: Exception) -> TareError:
    message = " ".join(line.strip() for line in str(error).splitlines() if line.strip() and "^" not in line)
    return TareError(QUERY, f"{message} (`tare schema` lists tables and columns)")


def _settings() -> dict[str, str]:
    """One thread, because small tables are done before a second one has started. What doesn't fit the limit goes to disk:
    ten million blocks take 1.5 GB."""
    scratch = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"tare-{os.getpid()}")
    return {"threads": "1", "memory_limit": "512MB", "temp_directory": scratch}


def _engine() -> Any:
    """DuckDB's engine without the package's Python layer where possible: 14 ms of CPU instead of 61."""
    try:
        import _duckdb

        return _duckdb
    except ImportError:
        import duckdb

        return duckdb
