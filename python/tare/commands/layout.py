"""`tare layout`: padding in types, better orders of fields, and sizes with narrower pointers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tare.commands.options import add_json, add_rows
from tare.errors import USAGE, TareError, did_you_mean, warn
from tare.progress import Progress
from tare.reports.layout_tables import Choice, Row, diff_table, overview
from tare.reports.type_picture import picture
from tare.text.printable import say
from tare.text.sizes import parse_bytes
from tare.text.terminal import width_of
from tare.text.units import exact, plural
from tare.text.wrapping import wrap
from tare.types.layouts import Blocks, Field, Type, matching, price, types_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from tare._core import Layouts

SYNOPSIS = (
    "tare layout BINARY... [--type PATTERN] [--min-saving BYTES] [--sort KEY] [--model MODEL] [-n N] [--system]\n"
    "       [--diff] [--debug-dir DIR] [--json]\n"
    "    tare layout --trace FILE [--type PATTERN] [--min-saving BYTES] [-n N] [--json]"
)
HELP = (
    "Reads the types of a C, C++ or Rust program from its debug information. Prints holes and tail padding, the order of\n"
    "fields that removes them, the size with 4-byte pointers, and whether the allocator's block gets smaller. With --trace,\n"
    "types are weighted by the number of objects that were live at the peak of a recording."
)
EXAMPLES = """
tare layout ./app                            types that get smaller with another order of fields
tare layout ./app --type 'net::*Packet'      their fields, and the better order
tare layout ./app lib*.so --model jemalloc --min-saving 8
tare layout --diff old/app new/app           types whose sizes differ between two builds
tare layout --trace app.tare                 types of a recording's blocks, by the bytes that they would save at its peak
"""

_LIMIT = 25
_SORTS: dict[str, Callable[[Row], tuple[int, ...]]] = {
    "saving": lambda row: (-row[1].saved_bytes, row[0].reordered_bytes - row[0].size_bytes),
    "holes": lambda row: (-row[0].padding_bytes,),
    "size": lambda row: (-row[0].size_bytes,),
    "narrow": lambda row: (-row[1].narrow_saved_bytes, row[0].narrow_reordered_bytes - row[0].size_bytes),
    "name": lambda row: (),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("binary", metavar="BINARY", nargs="*", help="programs or libraries with debug information")
    parser.add_argument(
        "--trace", metavar="FILE", help="print the types of this recording's blocks, by number of live blocks"
    )
    parser.add_argument(
        "--type", metavar="PATTERN", help="print the fields of types whose names contain or match PATTERN"
    )
    parser.add_argument("--min-saving", metavar="BYTES", help="only types whose block gets smaller by at least BYTES")
    parser.add_argument("--sort", choices=tuple(_SORTS), default="saving", help="order of types (default: saving)")
    parser.add_argument(
        "--model", metavar="MODEL", default="glibc", help="use the size classes of this allocator (default: glibc)"
    )
    add_rows(parser, _LIMIT, "types")
    parser.add_argument("--system", action="store_true", help="also print types of the system's headers")
    parser.add_argument("--diff", action="store_true", help="compare two binaries: OLD NEW")
    parser.add_argument(
        "--debug-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="also search this folder for debug files; repeatable",
    )
    add_json(parser, "print all types with their fields as JSON")


def run(options: argparse.Namespace) -> int:
    from tare import _core

    models = [name for name, _ in _core.size_models()]
    if options.model not in models:
        raise TareError(
            USAGE,
            f"layout: no model '{options.model}'{did_you_mean(options.model, models)} (models: {', '.join(models)})",
        )
    if bool(options.trace) == bool(options.binary):
        raise TareError(USAGE, "layout: needs either BINARY or --trace FILE")
    if options.diff and len(options.binary) != 2:
        raise TareError(USAGE, "layout: --diff needs two binaries, the old and the new")
    least = parse_bytes(options.min_saving, "--min-saving") if options.min_saving is not None else None
    if options.trace:
        return _weigh(options, least or 0)
    read = read_all(options.binary, options.debug_dir)
    if options.diff:
        return _diff(options, read)
    types = types_of(read)
    chosen = matching(types, options.type) if options.type else types
    if options.type and not chosen:
        raise TareError(USAGE, f"layout: none of {plural(len(types), 'type')} matches '{options.type}'")
    rows = sorted(zip(chosen, price(chosen, options.model), strict=True), key=lambda row: row[0].name)
    rows.sort(key=_SORTS[options.sort])
    if least is not None:
        rows = [row for row in rows if row[1].saved_bytes >= least]
    if options.json:
        _print_json(as_json(options.binary, read, rows, count_vtables(options.binary, options.debug_dir)))
    elif options.type:
        _print_pictures(rows, read, options)
    else:
        _print_overview(rows, read, options)
    return 0


def _weigh(options: argparse.Namespace, least: int) -> int:
    from tare.reports import weighed_types
    from tare.source.core_source import CoreSource
    from tare.source.database import Database

    source = CoreSource(options.trace)
    warn(source.warnings)
    found = source.site_layouts(Database(source)).weigh()
    if options.type:
        named = set(matching([each.type for each in found], options.type))
        found = [each for each in found if each.type in named]
    found = [each for each in found if each.saved_bytes >= least]
    gross_peak = source.process()["peak_gross_bytes"]
    if options.json:
        _print_json(weighed_types.as_json(found, gross_peak))
    else:
        say(weighed_types.lines(found, gross_peak, options.rows, width_of(sys.stdout)))
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
    with Progress("reading types") as progress:
        for path in paths:

            def report(done: int, total: int, path: str = path) -> None:
                progress.update(done / total if total else -1, path)

            read.append(_core.read_layouts(path, debug_dirs, report))
    warn(warning for layouts in read for warning in layouts.warnings)
    return read


def _print_overview(rows: Sequence[Row], read: Sequence[Layouts], options: argparse.Namespace) -> None:
    from tare.reports import vtables

    columns = width_of(sys.stdout)
    what = Choice(options.model, options.sort, options.rows, options.system, sum(each.units for each in read))
    say(overview(rows, what, columns))
    counted = count_vtables(options.binary, options.debug_dir)
    if said := list(vtables.lines(options.binary, counted, columns)):
        say(["", *said])


def _print_pictures(rows: Sequence[Row], read: Sequence[Layouts], options: argparse.Namespace) -> None:
    columns = width_of(sys.stdout)
    chosen = rows[: options.rows]
    pictures = [picture(each, blocks, read[each.binary], options.model, columns) for each, blocks in chosen]
    for number, lines in enumerate(pictures):
        say(["", *lines] if number else lines)
    if len(chosen) < len(rows):
        print(f"\n({plural(len(rows) - len(chosen), 'more type')}: --rows all prints them)")


def _print_json(data: dict[str, Any]) -> None:
    from tare.reports.json_report import dump

    print(dump(data))


def as_json(
    paths: Sequence[str], read: Sequence[Layouts], rows: Sequence[Row], vtables: Sequence[dict[str, Any] | None]
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
                **_facts(each),
                "binary": paths[each.binary],
                **_details(each, read[each.binary]),
                "blocks": {name: blocks[number]._asdict() for name, blocks in models.items()},
            }
            for number, each in enumerate(types)
        ],
    }


def _facts(each: Type) -> dict[str, Any]:
    facts = {name: value for name, value in each._asdict().items() if name not in ("type_id", "binary")}
    return {name: bool(value) if name.startswith("is_") else value for name, value in facts.items()}


def _details(each: Type, layouts: Layouts) -> dict[str, Any]:
    return {
        "fields": [Field(*field)._asdict() for field in layouts.fields(each.type_id)],
        "holes": [{"offset_bits": offset, "size_bits": size} for offset, size in layouts.holes(each.type_id)],
        "order": layouts.order(each.type_id),
        "narrow_order": layouts.narrow_order(each.type_id),
    }


def _diff(options: argparse.Namespace, read: Sequence[Layouts]) -> int:
    old, new = (_by_name(layouts, options.type) for layouts in read)
    changed = changes(old, new, options.model)
    gone = sorted(set(old) - set(new))
    fresh = sorted(set(new) - set(old))
    if options.json:
        _print_json(diff_json(options, changed, gone, fresh))
        return 0
    columns = width_of(sys.stdout)
    names = len(set(old) | set(new))
    lines = wrap(
        f"{plural(len(changed), 'type')} of {exact(names)} changed in size, {exact(len(fresh))} are new,"
        f" {exact(len(gone))} are gone",
        columns,
    )
    shown = changed[: options.rows]
    if shown:
        lines += ["", *diff_table(shown, options.model, columns)]
    if len(shown) < len(changed):
        lines.append(f"({exact(len(changed) - len(shown))} more: --rows all prints them)")
    say(lines)
    return 0


def _by_name(layouts: Layouts, pattern: str | None) -> dict[str, Type]:
    """Of several types of one name the smallest, in both binaries."""
    types = types_of([layouts])
    chosen = matching(types, pattern) if pattern else types
    return {each.name: each for each in sorted(chosen, key=lambda each: -each.size_bytes)}


def changes(old: dict[str, Type], new: dict[str, Type], model: str) -> list[tuple[Row, Row]]:
    """Types of both that differ in size, those whose block grew most first."""
    names = sorted(name for name in old if name in new and old[name].size_bytes != new[name].size_bytes)
    before = [old[name] for name in names]
    after = [new[name] for name in names]
    rows = zip(
        zip(before, price(before, model), strict=True), zip(after, price(after, model), strict=True), strict=True
    )

    def growth(pair: tuple[tuple[Type, Blocks], tuple[Type, Blocks]]) -> tuple[int, int]:
        (old_type, old_blocks), (new_type, new_blocks) = pair
        return old_blocks.size_bytes - new_blocks.size_bytes, old_type.size_bytes - new_type.size_bytes

    return sorted(rows, key=growth)


def diff_json(
    options: argparse.Namespace, changed: Sequence[tuple[Row, Row]], gone: list[str], fresh: list[str]
) -> dict[str, Any]:
    return {
        "old": options.binary[0],
        "new": options.binary[1],
        "model": options.model,
        "changed": [
            {
                "name": new.name,
                "old_bytes": old.size_bytes,
                "new_bytes": new.size_bytes,
                "old_block_bytes": old_blocks.size_bytes,
                "new_block_bytes": new_blocks.size_bytes,
                "old_padding_bytes": old.padding_bytes,
                "new_padding_bytes": new.padding_bytes,
            }
            for (old, old_blocks), (new, new_blocks) in changed
        ],
        "only_old": gone,
        "only_new": fresh,
    }
