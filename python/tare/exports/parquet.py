"""Parquet: a folder with one file for each table, compressed by zstd; pandas, polars, DuckDB and Spark read them.

Each file's key-value metadata has the version of Tare that made it, the version of the tables and the meaning of a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import IO, TareError
from tare.exports.tables import chosen, metadata_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.analysis.recording import Recording


def write_folder(recording: Recording, folder: Path, tables: Sequence[str] = ()) -> None:
    """`tables`: names; none: all but those that need a pass of their own over the trace."""
    import duckdb

    folder.mkdir(parents=True)
    for name in chosen(recording, tables):
        pairs = ", ".join(f"{_text(key)}: {_text(value)}" for key, value in metadata_of(name).items())
        path = _text(str(folder / f"{name}.parquet"))
        statement = f"copy {name} to {path} (format parquet, compression zstd, kv_metadata {{{pairs}}})"
        try:
            recording.database.run(statement)
        except duckdb.IOException as error:
            raise TareError(IO, f"export: can't write {folder}/{name}.parquet: {str(error).splitlines()[0]}") from None


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
