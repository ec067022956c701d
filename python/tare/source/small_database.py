"""SQLite in DuckDB's place, for the summary that ends a run: it starts in 5 ms of CPU instead of 50, and plans a statement in
0.1 instead of 3. DuckDB is the faster from some thousand rows on."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from tare.source.database import TableStore

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from tare import schema
    from tare.source.database import TableSource

# Rows of its largest table up to which a whole summary costs less here: at 2,800 it takes 50 ms and DuckDB 200, at 14,000 both 270.
MOST_ROWS = 10_000

# Unique columns that lenses join by: where they are the key of SQLite's own tree, a join needs no index made for it.
_KEYS = {"site_sizes": "size_id", "size_classes": "requested_bytes", "sites": "site_id", "stack_sites": "stack_id"}

# SQLite's words for the subset that DuckDB and Spark share. Its scalar max and min differ where an argument is null,
# which none is: claims that may be null are of lenses that nothing is granted to. Its `/` cuts integers off.
_OWN_WORDS = {"greatest(": "max(", "least(": "min(", "/": "* 1.0 /"}
_WORDS = re.compile(r"'[^']*'|\bgreatest\(|\bleast\(|/")


class SmallDatabase(TableStore):
    """One in-memory SQLite. Python may lack it: then making one is an ImportError."""

    def __init__(self, source: TableSource) -> None:
        super().__init__(source)
        self._connection = _connect()

    def run(self, sql: str) -> None:
        self._connection.execute(_in_own_words(sql))

    def answer(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = self._connection.execute(_in_own_words(sql))
        return [column[0] for column in cursor.description or ()], cursor.fetchall()

    def fill(self, table: schema.Table, rows: Iterable[Sequence[Any]]) -> None:
        key = _KEYS.get(table.name)
        columns = (f"{c.name} {'integer primary key' if c.name == key else c.type}" for c in table.columns)
        self.run(f"create table {table.name} ({', '.join(columns)})")
        values = ",".join("?" * len(table.columns))
        self._connection.execute("begin")
        self._connection.executemany(f"insert into {table.name} values ({values})", rows)
        self._connection.execute("commit")

    def replaced(self, alias: str, query: str, columns: Mapping[str, str]) -> str:
        names, _ = self.answer(f"select * from ({query}) limit 0")
        return ", ".join(f"{columns[name]} as {name}" if name in columns else f"{alias}.{name}" for name in names)

    def plan_simply(self) -> None:
        """It always does."""


def _connect() -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.create_aggregate("max_by", 2, _MaxBy)  # type: ignore[arg-type]  # typeshed wants integers
    connection.create_function("log2", 1, _log2, deterministic=True)
    return connection


def _in_own_words(sql: str) -> str:
    return _WORDS.sub(lambda word: _OWN_WORDS.get(word[0], word[0]), sql)


def _log2(value: float | None) -> float | None:
    return None if value is None else math.log2(value)


class _MaxBy:
    """max_by(value, key): the value beside the greatest key, the first of equals."""

    def __init__(self) -> None:
        self._value: Any = None
        self._key: Any = None

    def step(self, value: Any, key: Any) -> None:
        if key is not None and (self._key is None or key > self._key):
            self._key = key
            self._value = value

    def finalize(self) -> Any:
        return self._value
