"""The tables of exports that have tables: their names, their order and what their files say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare import __version__, schema
from tare.errors import USAGE, TareError
from tare.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.recording import Recording


ALL = "all"  # of --tables: also those that need a pass of their own over the trace


def chosen(recording: Recording, tables: Sequence[str]) -> Iterator[str]:
    """Names, each when its table is there; none given: all but those that need a pass of their own over the trace."""
    unknown = [name for name in tables if name not in schema.BY_NAME and list(tables) != [ALL]]
    if unknown:
        raise TareError(USAGE, f"export: there is no table {unknown[0]}; `tare schema` lists the tables")
    names = list(tables) or [table.name for table in schema.TABLES if not table.heavy]
    if list(tables) == [ALL]:
        names = [table.name for table in schema.TABLES]
    with Progress("writing tables") as progress:
        for done, name in enumerate(names):
            progress.update(done / len(names), name)
            recording.database.use(name)
            yield name


def metadata_of(name: str) -> dict[str, str]:
    table = schema.BY_NAME[name]
    return {
        "tare.version": __version__,
        "tare.schema": str(schema.VERSION),
        "tare.table": name,
        "tare.row": table.row,
    }
