"""Parquet: a folder with one file for each table, compressed by zstd; pandas, polars, DuckDB and Spark read them.

Each file's key-value metadata has the version of Tare that made it and the meaning of a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare import __version__, schema
from tare.errors import IO, USAGE, TareError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.analysis.recording import Recording


def write_folder(recording: Recording, folder: Path, tables: Sequence[str] = ()) -> None:
    """`tables`: names; none: all but those that need a pass of their own over the trace."""
    import duckdb

    from tare.progress import Progress

    unknown = [name for name in tables if name not in schema.BY_NAME]
    if unknown:
        raise TareError(USAGE, f"export: there is no table {unknown[0]}; `tare schema` lists the tables")
    chosen = list(tables) or [table.name for table in schema.TABLES if not table.heavy]
    folder.mkdir(parents=True)
    with Progress("writing tables"):
        for name in chosen:
            recording.database.use(name)
            metadata = {"tare.version": __version__, "tare.table": name, "tare.row": schema.BY_NAME[name].row}
            pairs = ", ".join(f"{_text(key)}: {_text(value)}" for key, value in metadata.items())
            path = _text(str(folder / f"{name}.parquet"))
            statement = f"copy {name} to {path} (format parquet, compression zstd, kv_metadata {{{pairs}}})"
            try:
                recording.database.run(statement)
            except duckdb.IOException as error:
                raise TareError(
                    IO, f"export: can't write {folder}/{name}.parquet: {str(error).splitlines()[0]}"
                ) from None


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
