"""Tables for a terminal: aligned columns that fit a width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tare.text.printable import printable
from tare.text.terminal import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_GAP = 2
_LONGEST_VALUE = 60  # columns of one SQL value on a terminal


class Column(NamedTuple):
    """`least` > 0: the column takes the remaining width, at least so much, and its cells are cut. Other columns are as wide as
    their cells; if the width doesn't suffice, they are left out from the right, except those with `keep`."""

    head: str = ""  # may have several lines
    side: Literal["left", "right"] = "right"
    keep: bool = False
    least: int = 0
    cut: Callable[[str, int], str] = shorten


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    heads = [column.head.split("\n") for column in columns]
    widths = [
        min(_widest(heads[i], rows, i), column.least) if column.least else _widest(heads[i], rows, i)
        for i, column in enumerate(columns)
    ]
    shown = list(range(len(columns)))

    def used() -> int:
        return sum(widths[i] for i in shown) + _GAP * (len(shown) - 1)

    for i in reversed(range(len(columns))):
        if used() > width and not (columns[i].keep or columns[i].least):
            shown.remove(i)
    for i in shown:
        if columns[i].least:
            widths[i] = max(widths[i] + width - used(), columns[i].least)
            widths[i] = min(widths[i], _widest(heads[i], rows, i))

    def line(cells: Sequence[str]) -> str:
        parts = []
        for i in shown:
            cell = columns[i].cut(cells[i], widths[i]) if columns[i].least else cells[i]
            parts.append(cell.ljust(widths[i]) if columns[i].side == "left" else cell.rjust(widths[i]))
        return (" " * _GAP).join(parts).rstrip()

    height = max((len(head) for head in heads), default=0) if any(column.head for column in columns) else 0
    for number in range(height):
        yield line([head[number] if number < len(head) else "" for head in heads])
    for row in rows:
        yield line(row)


def _widest(head: Sequence[str], rows: Sequence[Sequence[str]], i: int) -> int:
    return max([*map(len, head), *(len(row[i]) for row in rows)])


def table_of_values(names: Sequence[str], rows: Sequence[Sequence[Any]], *, cut: bool) -> list[str]:
    """The answer to a statement: every column, numbers to the right; with `cut`, long values are shortened."""
    cells = [[_text(value) for value in row] for row in rows]
    if cut:
        cells = [[shorten(cell, _LONGEST_VALUE) for cell in row] for row in cells]
    numeric = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(names))]
    columns = [
        Column(name, "right" if right else "left", keep=True) for name, right in zip(names, numeric, strict=True)
    ]
    head, *lines = table(columns, cells, 0)
    widths = [_widest([name], cells, i) for i, name in enumerate(names)]
    count = f"({len(rows):,} row{'' if len(rows) == 1 else 's'})"
    return [head, (" " * _GAP).join("-" * width for width in widths), *lines, count]


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else printable(str(value))
