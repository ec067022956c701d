"""`tare schema`: explains every table and column of `tare sql`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare import schema
from tare.commands.options import add_json
from tare.errors import USAGE, TareError, did_you_mean
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

SYNOPSIS = "tare schema [TABLE ...] [--json]"
HELP = "Prints the tables of a recording with their columns: type, unit and meaning."
EXAMPLES = """
tare schema
tare schema site_sizes growth
tare schema --json
"""


_LEAST_MEANING = 24  # columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these (default: all)")
    add_json(parser, "print the same as JSON")


def run(options: argparse.Namespace) -> int:
    tables = chosen(options.tables)
    if options.json:
        from tare.reports.json_report import dump

        print(
            dump([{**table._asdict(), "columns": [column._asdict() for column in table.columns]} for table in tables])
        )
        return 0
    from tare.text.terminal import width_of

    say(lines(tables, width_of(sys.stdout)))
    return 0


def chosen(names: list[str]) -> list[schema.Table]:
    """The tables with these names; no names: all tables."""
    for name in names:
        if name not in schema.BY_NAME:
            close = did_you_mean(name, schema.BY_NAME) or f": tables are {', '.join(schema.BY_NAME)}"
            raise TareError(USAGE, f"schema: no table '{name}'{close}")
    return [schema.BY_NAME[name] for name in names] or list(schema.TABLES)


def lines(tables: list[schema.Table], width: int) -> Iterator[str]:
    from tare.text.wrapping import wrap

    for table in tables:
        yield from wrap(f"{table.name}: {table.row}", width, subsequent_indent="  ")
        yield from wrap(table.note, width, initial_indent="  ", subsequent_indent="  ")
        for column in table.columns:
            head = f"  {column.name:<24} {column.type.lower():<8} "
            if width >= len(head) + _LEAST_MEANING:
                indent = " " * len(head)
            else:  # no room beside it
                yield head.rstrip()
                head = indent = " " * 6
            yield from wrap(column.meaning, width, initial_indent=head, subsequent_indent=indent)
        yield ""
