"""Engines that hold a recording's tables and answer SQL about them; DuckDB is the one that all commands use."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from tare import schema
from tare.errors import QUERY, TareError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import duckdb


class TableSource(Protocol):
    """A maker of tables: the core for a trace, a test by hand."""

    def load(self, table: schema.Table, into: TableStore) -> None:
        """Creates `table` in the store and fills it."""


class TableStore(ABC):
    """A recording's tables in an engine that answers SQL; each is loaded when a statement first needs it."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._loaded: set[str] = set()

    def use(self, *names: str) -> None:
        """Makes sure that the tables are there."""
        for name in names:
            if name not in self._loaded:
                self._source.load(schema.BY_NAME[name], self)
                self._loaded.add(name)

    def make(self, name: str, query: str) -> None:
        """Fills a table of the schema from others, for recordings that have no other source of it."""
        self.run(schema.BY_NAME[name].ddl())
        self.run(f"insert into {name} {query}")
        self._loaded.add(name)

    def forget(self, *names: str) -> None:
        """Drops tables that depend on an option which changed (`sites` on the depth, `site_sizes` on the time)."""
        for name in names:
            if name in self._loaded:
                self.run(f"drop table {name}")
                self._loaded.discard(name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.answer(sql)[1]

    def row(self, sql: str) -> tuple[Any, ...]:
        return self.rows(sql)[0]

    def batches(self, sql: str, rows: int) -> Iterator[list[tuple[Any, ...]]]:
        """A query's rows, so many at a time. Other statements may run meanwhile."""
        found = self.rows(sql)
        for at in range(0, len(found), rows):
            yield found[at : at + rows]

    def records(self, sql: str) -> list[dict[str, Any]]:
        names, rows = self.answer(sql)
        return [dict(zip(names, row, strict=True)) for row in rows]

    @abstractmethod
    def run(self, sql: str) -> None: ...

    @abstractmethod
    def answer(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of a query's columns, and its rows."""

    @abstractmethod
    def fill(self, table: schema.Table, rows: Iterable[Sequence[Any]]) -> None:
        """Creates a table from rows of Python values."""

    @abstractmethod
    def replaced(self, alias: str, query: str, columns: Mapping[str, str]) -> str:
        """A select list of all columns of `query`, which has the name `alias`, with other expressions for some."""

    @abstractmethod
    def plan_simply(self) -> None:
        """Later queries have few rows: planning them well costs more than it saves."""


class Database(TableStore):
    """One in-memory DuckDB a recording."""

    def __init__(self, source: TableSource) -> None:
        super().__init__(source)
        self._connection: duckdb.DuckDBPyConnection | None = None

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = engine().connect(":memory:", config=_settings())
        return self._connection

    def run(self, sql: str) -> None:
        self.connection.execute(sql)

    def answer(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = self.connection.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return names, cursor.fetchall() if names else []

    def batches(self, sql: str, rows: int) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self.connection.cursor()
        cursor.execute(sql)
        while batch := cursor.fetchmany(rows):
            yield batch

    def ask(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """A user's statement: its column names and rows; an error is one line."""
        try:
            return self.answer(sql)
        except engine().Error as error:
            raise _query_error(error) from None

    def statements(self, sql: str) -> list[str]:
        """A user's text as single statements: split at semicolons outside quotes and comments."""
        try:
            return [statement.query for statement in self.connection.extract_statements(sql)]
        except engine().Error as error:
            raise _query_error(error) from None

    def fill(self, table: schema.Table, rows: Iterable[Sequence[Any]]) -> None:
        self.run(table.ddl())
        with self.connection.appender(table.name) as appender:
            appender.append_rows(rows)

    def replaced(self, alias: str, query: str, columns: Mapping[str, str]) -> str:
        return f"{alias}.* replace ({', '.join(f'{sql} as {name}' for name, sql in columns.items())})"

    def plan_simply(self) -> None:
        self.run("pragma disable_optimizer")


def _query_error(error: Exception) -> TareError:
    message = " ".join(line.strip() for line in str(error).splitlines() if line.strip() and "^" not in line)
    return TareError(QUERY, f"{message} (`tare schema` lists tables and columns)")


def _settings() -> dict[str, str]:
    """One thread, because small tables are done before a second one has started. Data beyond the limit goes to disk: ten
    million blocks take 1.5 GB. DuckDB makes that folder when it needs it; nobody can guess its name and make it earlier.
    """
    scratch = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"tare-{os.getpid()}-{os.urandom(8).hex()}")
    return {"threads": "1", "memory_limit": "512MB", "temp_directory": scratch}


def engine() -> Any:
    """DuckDB's engine without the package's Python layer where possible: 14 ms of CPU instead of 61."""
    try:
        import _duckdb

        return _duckdb
    except ImportError:
        import duckdb

        return duckdb
