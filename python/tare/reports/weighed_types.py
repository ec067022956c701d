"""Types by the bytes of their blocks at a recording's peak, and by the saving of other orders or narrower pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.naming.cpp_names import shorten as short_name
from tare.reports.table import Column, table
from tare.text.units import exact, human_bytes, percent, plural
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.types.site_layouts import Weighed

_NAME = Column("type", "left", least=20)


def lines(weighed: Sequence[Weighed], gross_peak: float, limit: int | None, columns: int) -> Iterator[str]:
    if not weighed:
        yield from wrap(
            "no block's type is known: that needs debug information of the recorded program and libraries, as they were"
            " then (-g, or their debug packages), and functions that name or point to what they allocate",
            columns,
        )
        return
    known = sum(each.gross_bytes for each in weighed)
    gaining = [each for each in weighed if each.saved_bytes]
    yield from wrap(
        f"{plural(len(weighed), 'type')} known of {human_bytes(known)} of blocks at the peak, {percent(known, gross_peak, 0)} of the"
        f" heap; other orders of fields would save {human_bytes(sum(each.saved_bytes for each in gaining))}",
        columns,
    )
    yield from wrap(narrow_summary(weighed), columns)
    if not gaining:
        yield from wrap("no type whose objects were found would take smaller blocks in another order", columns)
        return
    yield ""
    yield from _table(gaining[:limit], columns)
    if len(gaining) > len(gaining[:limit]):
        yield f"({exact(len(gaining) - len(gaining[:limit]))} more: --rows all prints them)"
    yield ""
    yield from wrap(
        "sure: high, an allocating function names the type; medium, a variable of the block's size does; low, only the size does",
        columns,
        subsequent_indent="  ",
    )


def narrow_summary(weighed: Sequence[Weighed]) -> str:
    """The saving by 4-byte pointers, the part that padding and size classes take, and the part that reordering returns."""
    holding = [each for each in weighed if each.type.pointers]
    nominal = sum(4 * each.type.pointers * each.objects for each in holding)
    if not nominal:
        return "no live object that was found holds pointers to data"
    before = sum(each.narrow_saved_bytes for each in holding)
    both = sum(each.narrow_reordered_saved_bytes for each in holding)
    order = sum(each.saved_bytes for each in holding)
    return (
        f"with 4-byte pointers to data they would save {human_bytes(before)}, and {human_bytes(both)} reordered as well"
        f" ({human_bytes(order)} of that by order alone): half of their pointers is {human_bytes(nominal)}, of which padding and"
        f" size classes eat {percent(max(nominal - before, 0), nominal, 0)}"
    )


def _table(weighed: Sequence[Weighed], columns: int) -> Iterator[str]:
    heads = [Column("saves", keep=True), Column("live"), Column("size"), Column("sure"), _NAME]
    rows = [
        [
            human_bytes(each.saved_bytes),
            exact(each.objects),
            f"{exact(each.type.size_bytes)} → {exact(each.type.reordered_bytes)}",
            each.certainty,
            short_name(each.type.name),
        ]
        for each in weighed
    ]
    yield from table(heads, rows, columns)


def as_json(weighed: Sequence[Weighed], gross_peak: float) -> dict[str, Any]:
    return {
        "gross_bytes_peak": gross_peak,
        "types": [
            {
                "name": each.type.name,
                "file": each.type.file,
                "line": each.type.line,
                "size_bytes": each.type.size_bytes,
                "reordered_bytes": each.type.reordered_bytes,
                "pointers": each.type.pointers,
                "objects_peak": each.objects,
                "gross_bytes_peak": each.gross_bytes,
                "saved_bytes_peak": each.saved_bytes,
                "narrow_saved_bytes_peak": each.narrow_saved_bytes,
                "narrow_reordered_saved_bytes_peak": each.narrow_reordered_saved_bytes,
                "certainty": each.certainty,
                "found_by": each.found_by,
            }
            for each in weighed
        ],
    }
