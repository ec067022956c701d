"""A table and its columns: names, types and meanings."""

from __future__ import annotations

from typing import NamedTuple

INT = "BIGINT"
REAL = "DOUBLE"
TEXT = "VARCHAR"


class Column(NamedTuple):
    name: str
    type: str
    meaning: str


class Table(NamedTuple):
    name: str
    row: str  # meaning of one row
    columns: tuple[Column, ...]
    note: str = ""
    heavy: bool = False  # made by a walk over the whole trace when first named

    def ddl(self) -> str:
        return f"create table {self.name} ({', '.join(f'{c.name} {c.type}' for c in self.columns)})"
