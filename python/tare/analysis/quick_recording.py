"""A recording folded by line, in the engine that answers sooner: SQLite if its tables are small, else DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tare import lenses, schema
from tare.analysis.recording import Recording
from tare.source.small_database import MOST_ROWS, SmallDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tare.analysis.recording import Source
    from tare.lenses.lens import Lens

    Result = TypeVar("Result")


def quickly(source: Source, answer: Callable[[Recording], Result]) -> Result:
    """`answer` of a recording with the quick lenses. A lens that needs more than both engines have runs in DuckDB."""
    source = source.by_line()
    wanted = quick_lenses(source.process())
    names = [lens.name for lens in wanted]
    small = source.in_bands() if names_no_shapes(wanted) else source
    try:
        import sqlite3

        if all(small.count(table) <= MOST_ROWS for table in {table for lens in wanted for table in lens.tables}):
            return answer(Recording(small, names, SmallDatabase))
    except (ImportError, sqlite3.Error):
        pass
    return answer(Recording(source, names))


def quick_lenses(process: dict[str, Any]) -> list[Lens]:
    """Those whose data the recording has, and which need no second walk over it."""
    runnable = lenses.load_runnable(lenses.names_for([]), process)
    return [lens for lens in runnable if not any(schema.BY_NAME[name].heavy for name in lens.tables)]


def names_no_shapes(wanted: Sequence[Lens], made_from_sizes: Sequence[str] = ()) -> bool:
    """True if these lenses have shapes from site_sizes alone, or from tables that are made from it: then sizes may be joined."""
    tables = {name for lens in wanted for name in lens.tables} - {"site_sizes", *made_from_sizes}
    return not any(column.name.endswith("size_id") for name in tables for column in schema.BY_NAME[name].columns)
