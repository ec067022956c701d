"""Every table and column with its meaning: the one list for `tare schema`, loading and tests."""

from __future__ import annotations

from tare.schema import blocks, kinds, moments, pools, process, reports, stacks
from tare.schema.table import INT, REAL, TEXT, Column, Table

__all__ = ["BY_NAME", "INT", "REAL", "TABLES", "TEXT", "VERSION", "Column", "Table"]

TABLES: tuple[Table, ...] = (
    *process.TABLES,
    *kinds.TABLES,
    *stacks.TABLES,
    *blocks.TABLES,
    *moments.TABLES,
    *reports.TABLES,
    *pools.TABLES,
)

# Of names and meanings of tables and columns, for files that outlive a release. Raised if a column goes or changes its meaning, not if one is
# added.
VERSION = 1

BY_NAME = {table.name: table for table in TABLES}
