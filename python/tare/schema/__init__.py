"""Every table and column with its meaning, from the core's list (src/core/columns/schema): for `tare schema`, loading and tests."""

from __future__ import annotations

from tare import _core
from tare.schema.table import INT, REAL, TEXT, Column, Table

__all__ = ["BY_NAME", "INT", "REAL", "TABLES", "TEXT", "VERSION", "Column", "Table"]

TABLES: tuple[Table, ...] = tuple(
    Table(name, row, tuple(Column(*column) for column in columns), note, heavy)
    for name, row, note, heavy, columns in _core.table_schemas()
)

# Of names and meanings of tables and columns, for files that outlive a release. Raised if a column goes or changes its meaning, not if one is
# added.
VERSION = 1

BY_NAME = {table.name: table for table in TABLES}
