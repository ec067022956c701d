"""Arrow's files (IPC): a folder with one file for each table, in batches; pyarrow, polars and R map them.

The schema's metadata has what a Parquet file's has. The package pyarrow writes the files; Tare itself doesn't depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.exports.tables import chosen, metadata_of
from tare.source.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.analysis.recording import Recording


def write_folder(recording: Recording, folder: Path, tables: Sequence[str] = ()) -> None:
    """`tables`: names; none: all but those that need a pass of their own over the trace."""
    try:
        import duckdb  # noqa: F401  (adds relations to connections of its engine)
        from pyarrow import RecordBatchReader, ipc
    except ImportError:
        raise TareError(USAGE, "export: arrow needs the package pyarrow: pip install pyarrow") from None

    folder.mkdir(parents=True)
    for name in chosen(recording, tables):
        assert isinstance(recording.database, Database)  # SQLite has no Arrow
        reader = RecordBatchReader.from_stream(recording.database.connection.sql(f"select * from {name}"))
        schema = reader.schema.with_metadata(metadata_of(name))
        with ipc.new_file(str(folder / f"{name}.arrow"), schema) as writer:
            for batch in reader:
                writer.write_batch(batch.replace_schema_metadata(schema.metadata))
