"""`tare layout`: what types waste on padding, which order of fields doesn't, and what narrower pointers would leave."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any

from tare.cpp_names import shorten as short_name
from tare.errors import USAGE, TareError
from tare.layouts import MOVABLE, Blocks, Field, Type, matching, moves, price, types_of
from tare.sizes import parse_bytes
from tare.terminal import Progress, shorten, shorten_path, width_of
from tare.units import exact, percent, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from tare._core import Layouts

SYNOPSIS = (
    "tare layout BINARY... [--type PATTERN] [--min-saving BYTES] [--sort KEY] [--model NAME] [--limit N] [--system]\n"
    "       [--diff] [--debug-dir DIR] [--json]\n"
    "    tare layout --trace FILE [--type PATTERN] [--min-saving BYTES] [--limit N] [--json]"
)
HELP = (
    "Reads from a program's or library's debug information how its types lie in memory: holes, tail padding, the order of\n"
    "fields that removes them, what 4-byte pointers to data would leave before and after it, and whether an allocator's\n"
    "block gets smaller by that. C, C++ and Rust. Beside a recording, by how many objects lived at its peak."
)
EXAMPLES = """
tare layout ./app                            types that another order of fields makes smaller
tare layout ./app --type 'net::*Packet'      field by field, with the order to write instead
tare layout ./app lib*.so --model jemalloc --min-saving 8
tare layout --diff old/app new/app           what a change did to the sizes of types
tare layout --trace app.tare                 the types of a recording's blocks, by what they would save at its peak
"""

_LIMIT = 25
_LINE_BITS = 512
_SORTS: dict[str, Callable[[tuple[Type, Blocks]], tuple[int, ...]]] = {
    "saving": lambda row: (-row[1].saved_bytes, row[0].reordered_bytes - row[0].size_bytes),
    "holes": lambda row: (-row[0].hole_bytes - row[0].tail_padding_bytes,),
    "size": lambda row: (-row[0].size_bytes,),
    "narrow": lambda row: (-row[1].narrow_saved_bytes, row[0].narrow_reordered_bytes - row[0].size_bytes),
    "name": lambda row: (),
}
_STAYS = {
    "overlaid": "all of it lies at one place: no order",
    "packed": "packed: no padding to remove",
    "compiler orders": "the compiler orders its fields itself",
    "not understood": "its order follows rules that aren't known here: none is proposed",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("binary", metavar="BINARY", nargs="*", help="programs or libraries with debug information")
    parser.add_argument("--trace", metavar="FILE", help="the types of this recording's blocks, by their live counts")
    parser.add_argument("--type", metavar="PATTERN", help="field by field, types whose names hold or match it")
    parser.add_argument("--min-saving", metavar="BYTES", help="only types whose block gets smaller by that much")
    parser.add_argument("--sort", choices=tuple(_SORTS), default="saving", help="by what (default: saving)")
    parser.add_argument("--model", metavar="NAME", default="glibc", help="blocks of which allocator (default: glibc)")
    parser.add_argument(
        "--limit", type=int, default=_LIMIT, metavar="N", help=f"rows (default: {_LIMIT}; 0: all of them)"
    )
    parser.add_argument("--system", action="store_true", help="types of the system's headers too")
    parser.add_argument("--diff", action="store_true", help="compare two binaries: OLD NEW")
    parser.add_argument("--debug-dir", metavar="DIR", action="append", default=[], help="look for debug files here too")
    parser.add_argument("--json", action="store_true", help="all types as JSON, field by field")


def run(options: argparse.Namespace) -> int:
    from tare import _core

    if options.model not in {name for name, _ in _core.size_models()}:
        names = ", ".join(name for name, _ in _core.size_models())
        raise TareError(USAGE, f"layout: there is no model '{options.model}': {names}")
    if options.limit < 0:
        raise TareError(USAGE, "layout: --limit is at least 0")
    if bool(options.trace) == bool(options.binary):
        raise TareError(USAGE, "layout: name binaries, or a recording with --trace")
    if options.diff and len(options.binary) != 2:
        raise TareError(USAGE, "layout: --diff compares two binaries, the old and the new")
    least = parse_bytes(options.min_saving, "--min-saving") if options.min_saving is not None else None
    columns = width_of(sys.stdout)
    if options.trace:
        return _weigh(options, least or 0, columns)
    read = read_all(options.binary, options.debug_dir)
    if options.diff:
        return _diff(options, read, columns)
    types = types_of(read)
    asked = matching(types, options.type) if options.type else types
    if options.type and not asked:
        raise TareError(USAGE, f"layout: no type of {exact(len(types))} is called '{options.type}'")
    rows = sorted(zip(asked, price(asked, options.model), strict=True), key=lambda row: row[0].name)
    rows.sort(key=_SORTS[options.sort])
    if least is not None:
        rows = [row for row in rows if row[1].saved_bytes >= least]
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(options.binary, read, rows, count_vtables(options.binary, options.debug_dir))))
    elif options.type:
        chosen = rows[: options.limit or None]
        print("\n\n".join("\n".join(picture(each, blocks, read, options.model, columns)) for each, blocks in chosen))
        if len(chosen) < len(rows):
            print(f"\n… and {plural(len(rows) - len(chosen), 'more type')} (--limit 0 shows all)")
    else:
        shown = [row for row in rows if options.system or not row[0].is_system]
        print("\n".join(overview(rows, shown, read, options, columns)))
        from tare.reports import vtables

        counted = count_vtables(options.binary, options.debug_dir)
        if said := list(vtables.lines(options.binary, counted, columns)):
            print("\n".join(["", *said]))
    return 0


def _weigh(options: argparse.Namespace, least: int, columns: int) -> int:
    from tare.core_source import CoreSource
    from tare.reports import weighed_types

    source = CoreSource(options.trace)
    found = source.site_layouts().weigh()
    if options.type:
        named = set(matching([each.type for each in found], options.type))
        found = [each for each in found if each.type in named]
    found = [each for each in found if each.saved_bytes >= least]
    gross_peak = source.process()["peak_gross_bytes"]
    if options.json:
        from tare.reports.json_report import dump

        print(dump(weighed_types.as_json(found, gross_peak)))
    else:
        print("\n".join(weighed_types.lines(found, gross_peak, options.limit, columns)))
    return 0


def count_vtables(paths: Sequence[str], debug_dirs: Sequence[str]) -> list[dict[str, Any] | None]:
    """None where a file isn't linked yet."""
    from tare import _core

    counted: list[dict[str, Any] | None] = []
    for path in paths:
        try:
            counted.append(_core.count_vtables(path, debug_dirs))
        except TareError as error:
            if error.kind != USAGE:
                raise
            counted.append(None)
    return counted


def read_all(paths: Sequence[str], debug_dirs: Sequence[str]) -> list[Layouts]:
    from tare import _core

    read = []
    with Progress("tare: reading types") as progress:
        for path in paths:
            read.append(
                _core.read_layouts(
                    path,
                    debug_dirs,
                    lambda done, total, path=path: progress.update(done / total if total else -1, path),  # type: ignore[misc]
                )
            )
    for layouts in read:
        for warning in layouts.warnings:
            print(f"tare: {warning}", file=sys.stderr)
    return read


# ---- the table


def overview(
    rows: Sequence[tuple[Type, Blocks]],
    shown: Sequence[tuple[Type, Blocks]],
    read: Sequence[Layouts],
    options: argparse.Namespace,
    columns: int,
) -> Iterator[str]:
    units = sum(each.units for each in read)
    padded = [each for each, _ in rows if each.hole_bytes or each.hole_bits or each.tail_padding_bytes]
    yield from textwrap.wrap(
        f"{plural(len(rows), 'type')} of {plural(units, 'unit')}, {exact(len(padded))} of them with padding", columns
    )
    yield from textwrap.wrap(narrow_summary([each for each, _ in rows]), columns)
    if options.sort == "saving":
        shown = [row for row in shown if row[0].reordered_bytes < row[0].size_bytes]
    elif options.sort == "narrow":
        shown = [row for row in shown if row[0].narrow_reordered_bytes < row[0].size_bytes]
    hidden = sum(each.is_system and each.reordered_bytes < each.size_bytes for each, _ in rows)
    if hidden and not options.system:
        yield from textwrap.wrap(
            f"{plural(hidden, 'type')} of the system's headers would be smaller in another order (--system shows them)",
            columns,
        )
    if not shown:
        yield "no type would be smaller in another order"
        return
    same = sum(not blocks.saved_bytes for _, blocks in shown if options.sort == "saving")
    if same:
        yield from textwrap.wrap(
            f"{exact(same)} of {exact(len(shown))} that would be smaller save nothing on {options.model}'s heap: their block"
            " stays the same",
            columns,
        )
    yield ""
    some = shown[: options.limit or None]
    yield from table(some, options.model, columns)
    if len(some) < len(shown):
        yield f"… and {exact(len(shown) - len(some))} more (--limit 0 shows all)"
    if any(each.is_standard_layout and each.language != "C" for each, _ in some):
        yield ""
        yield from textwrap.wrap("s: standard layout, C code, files or the network may rely on the order", columns)


def narrow_summary(types: Sequence[Type]) -> str:
    """What narrower pointers leave, and what of it padding eats: once a type, without weights."""
    asked = [each for each in types if each.pointers and each.order_state == MOVABLE]
    nominal = sum(4 * each.pointers for each in asked)
    before = sum(each.size_bytes - each.narrow_bytes for each in asked)
    after = sum(each.size_bytes - each.narrow_reordered_bytes for each in asked)
    plain = sum(each.size_bytes - each.reordered_bytes for each in asked)
    if not nominal:
        return "no type holds pointers to data"
    size = sum(each.size_bytes for each in asked)
    eaten = f"; padding eats {percent(nominal - before, nominal)} of what the pointers give" if nominal > before else ""
    return (
        f"with 4-byte pointers to data the {exact(len(asked))} types that hold some would be"
        f" {percent(before, size)} smaller, and {percent(after, size)} reordered as well (by order alone"
        f" {percent(plain, size)}){eaten}"
    )


def table(rows: Sequence[tuple[Type, Blocks]], model: str, columns: int) -> Iterator[str]:
    heads = ["saves", f"{model} block", "size", "holes", "tail", "4-byte"]
    cells = [
        [
            exact(blocks.saved_bytes),
            _arrow(blocks.size_bytes, blocks.reordered_bytes),
            _arrow(each.size_bytes, each.reordered_bytes),
            _bits(each.hole_bytes, each.hole_bits),
            exact(each.tail_padding_bytes),
            _arrow(each.narrow_bytes, each.narrow_reordered_bytes),
        ]
        for each, blocks in rows
    ]
    widths = [max(len(line[column]) for line in [heads, *cells]) for column in range(len(heads))]
    fitting = len(widths)
    while fitting > 3 and sum(widths[:fitting]) + 2 * fitting + 30 > columns:  # a name needs some room
        fitting -= 1
    room = columns - sum(widths[:fitting]) - 2 * fitting
    yield "  ".join(head.rjust(width) for head, width in zip(heads[:fitting], widths, strict=False)) + "  type"
    for (each, _), line in zip(rows, cells, strict=True):
        mark = " (s)" if each.is_standard_layout and each.language != "C" else ""
        name = shorten(short_name(each.name), room - len(mark)) + mark
        yield "  ".join(cell.rjust(width) for cell, width in zip(line[:fitting], widths, strict=False)) + "  " + name


def _arrow(before: int, after: int) -> str:
    return exact(before) if before == after else f"{exact(before)} → {exact(after)}"


def _bits(whole_bytes: int, bits: int) -> str:
    return exact(whole_bytes) + (f" +{bits}b" if bits else "")


# ---- one type, field by field


def picture(each: Type, blocks: Blocks, read: Sequence[Layouts], model: str, columns: int) -> Iterator[str]:
    layouts = read[each.binary]
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
    return textwrap.wrap(text, columns, initial_indent="  ", subsequent_indent="    ")


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
    """By place, with what lies between them and where cache lines begin."""
    rows: list[tuple[int, int, str, str]] = []  # offset, rank, extent, text
    for field in fields:
        if field.kind == "virtual base":
            continue
        # Bit-fields say their width, also where it is whole bytes.
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


# ---- JSON


def as_json(
    paths: Sequence[str],
    read: Sequence[Layouts],
    rows: Sequence[tuple[Type, Blocks]],
    vtables: Sequence[dict[str, Any] | None],
) -> dict[str, Any]:
    from tare import _core

    types = [each for each, _ in rows]
    models = {name: price(types, name) for name, _ in _core.size_models()}
    return {
        "binaries": [
            {
                "path": path,
                "debug_file": layouts.dwarf_path,
                "units": layouts.units,
                "warnings": layouts.warnings,
                "vtables": counted,
            }
            for path, layouts, counted in zip(paths, read, vtables, strict=True)
        ],
        "types": [
            {
                **{name: value for name, value in each._asdict().items() if name not in ("type_id", "binary")},
                "is_standard_layout": bool(each.is_standard_layout),
                "is_polymorphic": bool(each.is_polymorphic),
                "binary": paths[each.binary],
                "fields": [Field(*field)._asdict() for field in read[each.binary].fields(each.type_id)],
                "holes": [
                    {"offset_bits": offset, "size_bits": size} for offset, size in read[each.binary].holes(each.type_id)
                ],
                "order": read[each.binary].order(each.type_id),
                "narrow_order": read[each.binary].narrow_order(each.type_id),
                "blocks": {name: priced[number]._asdict() for name, priced in models.items()},
            }
            for number, each in enumerate(types)
        ],
    }


# ---- two binaries


def _diff(options: argparse.Namespace, read: Sequence[Layouts], columns: int) -> int:
    old, new = ({each.name: each for each in _largest_first(types_of([layouts]))} for layouts in read)
    if options.type:
        names = {each.name for side in (old, new) for each in matching(side.values(), options.type)}
    else:
        names = set(old) | set(new)
    changed = [
        (old[name], new[name])
        for name in names
        if name in old and name in new and old[name].size_bytes != new[name].size_bytes
    ]
    blocks = {
        id(each): priced
        for side in zip(*changed, strict=True)
        for each, priced in zip(side, price(side, options.model), strict=True)
    }
    changed.sort(
        key=lambda pair: (
            blocks[id(pair[0])].size_bytes - blocks[id(pair[1])].size_bytes,
            pair[0].size_bytes - pair[1].size_bytes,
            pair[0].name,
        )
    )
    only_old = sorted(name for name in names if name not in new)
    only_new = sorted(name for name in names if name not in old)
    if options.json:
        from tare.reports.json_report import dump

        print(
            dump(
                {
                    "old": options.binary[0],
                    "new": options.binary[1],
                    "model": options.model,
                    "changed": [
                        {
                            "name": before.name,
                            "old_bytes": before.size_bytes,
                            "new_bytes": after.size_bytes,
                            "old_block_bytes": blocks[id(before)].size_bytes,
                            "new_block_bytes": blocks[id(after)].size_bytes,
                            "old_padding_bytes": before.hole_bytes + before.tail_padding_bytes,
                            "new_padding_bytes": after.hole_bytes + after.tail_padding_bytes,
                        }
                        for before, after in changed
                    ],
                    "only_old": only_old,
                    "only_new": only_new,
                }
            )
        )
        return 0
    yielded = [
        *textwrap.wrap(
            f"{plural(len(changed), 'type')} of {exact(len(names))} changed in size, {exact(len(only_new))} are new,"
            f" {exact(len(only_old))} are gone",
            columns,
        )
    ]
    if changed:
        yielded += ["", *_diff_table(changed[: options.limit or None], blocks, options.model, columns)]
    if options.limit and len(changed) > options.limit:
        yielded.append(f"… and {exact(len(changed) - options.limit)} more (--limit 0 shows all)")
    print("\n".join(yielded))
    return 0


def _largest_first(types: Sequence[Type]) -> list[Type]:
    """Of several that bear one name the last counts where names are keys: the smallest, in both binaries."""
    return sorted(types, key=lambda each: -each.size_bytes)


def _diff_table(
    changed: Sequence[tuple[Type, Type]], blocks: dict[int, Blocks], model: str, columns: int
) -> Iterator[str]:
    heads = ["size", f"{model} block", "padding"]
    cells = [
        [
            _arrow(before.size_bytes, after.size_bytes),
            _arrow(blocks[id(before)].size_bytes, blocks[id(after)].size_bytes),
            _arrow(before.hole_bytes + before.tail_padding_bytes, after.hole_bytes + after.tail_padding_bytes),
        ]
        for before, after in changed
    ]
    widths = [max(len(line[column]) for line in [heads, *cells]) for column in range(len(heads))]
    fitting = len(widths)
    while fitting > 1 and sum(widths[:fitting]) + 2 * fitting + 30 > columns:
        fitting -= 1
    room = columns - sum(widths[:fitting]) - 2 * fitting
    yield "  ".join(head.rjust(width) for head, width in zip(heads[:fitting], widths, strict=False)) + "  type"
    for (_, after), line in zip(changed, cells, strict=True):
        name = shorten(short_name(after.name), room)
        yield "  ".join(cell.rjust(width) for cell, width in zip(line[:fitting], widths, strict=False)) + "  " + name
