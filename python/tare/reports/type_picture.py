"""One type as text: its fields by offset, the gaps between them, and the better order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.naming.cpp_names import shorten as short_name
from tare.text.terminal import shorten, shorten_path
from tare.text.units import exact, plural
from tare.text.wrapping import wrap
from tare.types.layouts import MOVABLE, Blocks, Field, Type, moves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare._core import Layouts

_LINE_BITS = 512
_STAYS = {
    "overlaid": "all of it lies at one place: no order",
    "packed": "packed: no padding to remove",
    "compiler orders": "the compiler orders its fields itself",
    "not understood": "its order follows rules that aren't known here: none is proposed",
}


def picture(each: Type, blocks: Blocks, layouts: Layouts, model: str, columns: int) -> Iterator[str]:
    fields = [Field(*field) for field in layouts.fields(each.type_id)]
    yield shorten(f"{each.kind} {short_name(each.name)}", columns)
    if each.place:
        yield "  " + shorten_path(each.place, columns - 2)
    yield from _lines_of_fields(each, fields, layouts.holes(each.type_id), columns)
    lines = plural(each.cache_lines, "cache line")
    across = f", {plural(each.straddling_fields, 'field')} in two of them" if each.straddling_fields else ""
    standard = ", standard layout" if each.is_standard_layout and each.language != "C" else ""
    yield from _wrapped(
        f"{plural(each.size_bytes, 'byte')} (block of {exact(blocks.size_bytes)}), aligned to {each.align_bytes},"
        f" {lines}{across}{standard}",
        columns,
    )
    if each.order_state != MOVABLE:
        yield from _wrapped(_STAYS[each.order_state], columns)
    elif each.reordered_bytes < each.size_bytes:
        yield from _proposal(
            f"reordered {plural(each.reordered_bytes, 'byte')}, {_block(blocks.size_bytes, blocks.reordered_bytes, model)}",
            fields,
            layouts.order(each.type_id),
            columns,
        )
    if each.pointers and each.narrow_reordered_bytes < each.size_bytes:
        narrow = f"with 4-byte pointers {plural(each.narrow_bytes, 'byte')}, "
        narrow += _block(blocks.size_bytes, blocks.narrow_bytes, model)
        if each.narrow_reordered_bytes < each.narrow_bytes:
            yield from _wrapped(narrow, columns)
            yield from _proposal(
                f"and reordered {exact(each.narrow_reordered_bytes)}, "
                + _block(blocks.size_bytes, blocks.narrow_reordered_bytes, model),
                fields,
                layouts.narrow_order(each.type_id),
                columns,
            )
        else:
            yield from _wrapped(narrow, columns)


def _wrapped(text: str, columns: int) -> list[str]:
    return wrap(text, columns, initial_indent="  ", subsequent_indent="    ")


def _block(before: int, after: int, model: str) -> str:
    if before == after:
        return f"and the same block of {exact(before)} under {model}: nothing is saved on the heap"
    return f"block of {exact(after)} instead of {exact(before)} under {model}"


def _place(bits: int) -> str:
    return str(bits // 8) + (f":{bits % 8}" if bits % 8 else "")


def _extent(bits: int) -> str:
    return str(bits // 8) if bits % 8 == 0 else f"{bits}b"


def _lines_of_fields(
    each: Type, fields: Sequence[Field], holes: Sequence[tuple[int, int]], columns: int
) -> Iterator[str]:
    """By offset, with the gaps between them and the beginnings of cache lines."""
    rows: list[tuple[int, int, str, str]] = []  # offset, rank, extent, text
    for field in fields:
        if field.kind == "virtual base":
            continue
        # Bit-fields show their width, even in whole bytes.
        extent = f"{field.size_bits}b" if field.kind == "bit-field" else _extent(field.size_bits)
        rows.append((field.offset_bits, 1, extent, _declaration(field)))
    rows += [(offset, 0, _extent(size), "── hole ──") for offset, size in holes]
    if each.tail_padding_bytes:
        end = (each.size_bytes - each.tail_padding_bytes) * 8
        rows.append((end, 2, str(each.tail_padding_bytes), "── tail padding ──"))
    rows.sort(key=lambda row: (row[0], row[1]))
    width = max((len(_place(row[0])) for row in rows), default=1)
    extents = max((len(row[2]) for row in rows), default=1)
    line = 0
    for offset, _, extent, text in rows:
        if offset // _LINE_BITS > line and each.order_state != "overlaid":
            line = offset // _LINE_BITS
            yield shorten(f"  {'':{width}}  ┈┈ cache line {line}, from {line * 64} ┈┈", columns)
        yield shorten(f"  {_place(offset):>{width}}  {extent:>{extents}}  {text}", columns)
    for field in fields:
        if field.kind == "virtual base":
            yield shorten(f"  {'?':>{width}}  {'?':>{extents}}  {_declaration(field)}", columns)


def _declaration(field: Field) -> str:
    kind = {"base": "base ", "virtual base": "virtual base ", "variant": "variant "}.get(field.kind, "")
    type_name = short_name(field.type)
    return f"{kind}{type_name} {field.name}".rstrip() if type_name else f"{kind}{field.name}"


def _proposal(head: str, fields: Sequence[Field], order: Sequence[int], columns: int) -> Iterator[str]:
    if not order:
        yield from _wrapped(head, columns)
        return
    moved = moves(order)
    few = len(moved) <= 3
    yield from _wrapped(head + (":" if few else ", in this order:"), columns)
    if few:
        for field, after in moved:
            where = f"after {_called(fields[after])}" if after is not None else "to the front"
            yield from _wrapped(f"  move {_called(fields[field])} {where}", columns)
        return
    gone = {field for field, _ in moved}
    for field in order:
        yield shorten(f"    {'→' if field in gone else ' '} {_declaration(fields[field])}", columns)


def _called(field: Field) -> str:
    return field.name or _declaration(field)
