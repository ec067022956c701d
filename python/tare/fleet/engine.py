"""DuckDB for work on a store: with private files, which go with the connection."""

from __future__ import annotations

from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tare.source.database import engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


@contextmanager
def one_thread(memory_limit: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Beyond the limit it writes into a folder of its own, and not into the working directory."""
    with TemporaryDirectory(prefix="tare-fleet-") as scratch:
        connection = engine().connect(
            ":memory:", config={"threads": "1", "memory_limit": memory_limit, "temp_directory": scratch}
        )
        try:
            yield connection
        finally:
            connection.close()


@contextmanager
def beside(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of its own in a running engine: another engine takes 40 ms of CPU to start."""
    connection.execute("attach ':memory:' as beside")
    connection.execute("use beside")
    try:
        yield connection
    finally:
        connection.execute("use memory")
        connection.execute("detach beside")
