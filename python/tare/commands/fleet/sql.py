"""`tare fleet sql`: a statement over the tables of a store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_engine, add_store, add_where, store_of
from tare.commands.options import add_json

if TYPE_CHECKING:
    import argparse

SYNOPSIS = 'tare fleet sql STORE "select ..." [--where NAME=PATTERN] [--engine duckdb|spark] [--json]'
HELP = (
    "Runs an SQL statement (DuckDB's dialect, or Spark's with --engine spark) over the tables of a store: recordings,\n"
    "site_sums, claims, sites.\n"
    '"describe TABLE" lists the columns of a table.'
)
EXAMPLES = """
tare fleet sql fleet/ "describe recordings"
tare fleet sql fleet/ "select build, avg(peak_tare_bytes) from recordings group by build"
tare fleet sql fleet/ "select path from recordings where labels['canary'] = 'yes'" --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("statement", metavar="SQL", help="a statement")
    add_where(parser, "only recordings that fit")
    add_engine(parser)
    add_json(parser, "print rows as a JSON list of objects")


def run(options: argparse.Namespace) -> int:
    from tare.commands.sql import plain
    from tare.progress import Progress
    from tare.text.printable import say

    with Progress("querying the store"):
        names, rows = store_of(options).answer(options.statement)
    rows = [tuple(map(plain, row)) for row in rows]
    if options.json:
        from tare.reports.json_report import dump

        print(dump([dict(zip(names, row, strict=True)) for row in rows]))
    elif names:
        from tare.reports.table import table_of_values

        say(table_of_values(names, rows, cut=sys.stdout.isatty()))
    return 0
