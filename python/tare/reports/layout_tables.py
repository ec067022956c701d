"""Types of binaries as a table, and those that differ between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.naming.cpp_names import shorten as short_name
from tare.reports.table import Column
from tare.reports.table import table as fitted
from tare.text.terminal import shorten
from tare.text.units import exact, percent, plural
from tare.text.wrapping import wrap
from tare.types.layouts import MOVABLE, Blocks, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Row = tuple[Type, Blocks]
_NAME_ROOM = 30  # columns of a name: other columns are left out first
_MARK = " (s)"


class Choice(NamedTuple):
    """The choice of rows and columns."""

    model: str
    sort: str = "saving"
    limit: int | None = None  # None: no limit
    with_system: bool = False
    units: int = 0  # that the types come from


def overview(rows: Sequence[Row], choice: Choice, columns: int) -> Iterator[str]:
    """`rows` in their order; rows that can't be changed are counted."""
    yield from wrap(_head(rows, choice.units), columns)
    yield from wrap(narrow_summary([each for each, _ in rows]), columns)
    shown = [row for row in rows if choice.with_system or not row[0].is_system]
    if choice.sort == "saving":
        shown = [row for row in shown if row[0].reordered_bytes < row[0].size_bytes]
    elif choice.sort == "narrow":
        shown = [row for row in shown if row[0].narrow_reordered_bytes < row[0].size_bytes]
    hidden = sum(each.is_system and each.reordered_bytes < each.size_bytes for each, _ in rows)
    if hidden and not choice.with_system:
        yield from wrap(
            f"{plural(hidden, 'type')} of the system's headers would be smaller in another order (--system shows them)",
            columns,
        )
    if not shown:
        yield "no type would be smaller in another order"
        return
    same = sum(not blocks.saved_bytes for _, blocks in shown) if choice.sort == "saving" else 0
    if same:
        yield from wrap(
            f"{exact(same)} of {exact(len(shown))} that would be smaller save nothing on {choice.model}'s heap: their"
            " block stays the same",
            columns,
        )
    yield ""
    some = shown[: choice.limit]
    yield from table(some, choice.model, columns)
    if len(some) < len(shown):
        yield f"({exact(len(shown) - len(some))} more: --rows all prints them)"
    if any(_is_marked(each) for each, _ in some):
        yield ""
        yield from wrap("(s): standard layout; C code, files or the network may rely on the order", columns)


def _head(rows: Sequence[Row], units: int) -> str:
    padded = sum(bool(each.hole_bytes or each.hole_bits or each.tail_padding_bytes) for each, _ in rows)
    return f"{plural(len(rows), 'type')} of {plural(units, 'unit')}, {exact(padded)} of them with padding"


def narrow_summary(types: Sequence[Type]) -> str:
    """The saving by narrower pointers, and the part that padding takes; each type counts once."""
    movable = [each for each in types if each.pointers and each.order_state == MOVABLE]
    nominal = sum(4 * each.pointers for each in movable)
    if not nominal:
        return "no type holds pointers to data"
    size = sum(each.size_bytes for each in movable)
    before = sum(each.size_bytes - each.narrow_bytes for each in movable)
    after = sum(each.size_bytes - each.narrow_reordered_bytes for each in movable)
    alone = sum(each.size_bytes - each.reordered_bytes for each in movable)
    eaten = f"; padding eats {percent(nominal - before, nominal)} of what the pointers give" if nominal > before else ""
    return (
        f"with 4-byte pointers to data the {exact(len(movable))} types that hold some would be"
        f" {percent(before, size)} smaller, and {percent(after, size)} reordered as well (by order alone"
        f" {percent(alone, size)}){eaten}"
    )


def table(rows: Sequence[Row], model: str, columns: int) -> Iterator[str]:
    heads = ["saves", f"{model} block", "size", "holes", "tail", "4-byte"]
    cells = [
        [
            exact(blocks.saved_bytes),
            _arrow(blocks.size_bytes, blocks.reordered_bytes),
            _arrow(each.size_bytes, each.reordered_bytes),
            exact(each.hole_bytes) + (f" +{each.hole_bits}b" if each.hole_bits else ""),
            exact(each.tail_padding_bytes),
            _arrow(each.narrow_bytes, each.narrow_reordered_bytes),
        ]
        for each, blocks in rows
    ]
    yield from _fitted(heads, cells, [each for each, _ in rows], 3, columns)


def diff_table(changed: Sequence[tuple[Row, Row]], model: str, columns: int) -> Iterator[str]:
    heads = ["size", f"{model} block", "padding"]
    cells = [
        [
            _arrow(old.size_bytes, new.size_bytes),
            _arrow(old_blocks.size_bytes, new_blocks.size_bytes),
            _arrow(old.padding_bytes, new.padding_bytes),
        ]
        for (old, old_blocks), (new, new_blocks) in changed
    ]
    yield from _fitted(heads, cells, [new for _, (new, _) in changed], 1, columns)


def _fitted(
    heads: Sequence[str], cells: Sequence[Sequence[str]], types: Sequence[Type], least: int, columns: int
) -> Iterator[str]:
    """The first `least` columns, more where they fit, and the types' names."""
    numbers = [Column(head, keep=number < least) for number, head in enumerate(heads)]
    name = Column("type", "left", least=_NAME_ROOM, cut=_cut_name)
    names = [short_name(each.name) + (_MARK if _is_marked(each) else "") for each in types]
    yield from fitted([*numbers, name], [[*line, text] for line, text in zip(cells, names, strict=True)], columns)


def _cut_name(name: str, room: int) -> str:
    """The mark stays."""
    mark = _MARK if name.endswith(_MARK) else ""
    return shorten(name.removesuffix(_MARK), room - len(mark)) + mark


def _is_marked(each: Type) -> bool:
    return bool(each.is_standard_layout) and each.language != "C"


def _arrow(before: int, after: int) -> str:
    return exact(before) if before == after else f"{exact(before)} → {exact(after)}"
