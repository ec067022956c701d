"""`tare sql`: asks a recording's tables directly; a prompt on a terminal."""

from __future__ import annotations

import os
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tare import schema
from tare.errors import TareError
from tare.printable import printable, say

if TYPE_CHECKING:
    import argparse

    from tare.database import Database

SYNOPSIS = 'tare sql FILE ["select ..."] [--json]'
HELP = (
    "Runs SQL (DuckDB's) over a recording's tables; `tare schema` explains them. Without a statement: a prompt on a\n"
    "terminal, otherwise statements from the input."
)
EXAMPLES = """
tare sql app.tare "select api, sum(total_blocks) from site_sizes group by api"
tare sql app.tare "select function, file, line from frames where function like '%parse%'" --json
tare sql app.tare "select * from blocks order by usable_bytes desc limit 10"
tare sql app.tare
"""

# Tables that cost more than a few milliseconds are made when a statement names them.
_ON_DEMAND = {"frames", "sites", "stack_sites", "size_classes"} | {t.name for t in schema.TABLES if t.heavy}
_CELL = 60  # columns of a terminal that one value may take


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace")
    parser.add_argument("statement", nargs="?", metavar="SQL", help="what to ask")
    parser.add_argument("--json", action="store_true", help="rows as a JSON list of objects")


def run(options: argparse.Namespace) -> int:
    from tare.core_source import CoreSource
    from tare.database import Database

    database = Database(CoreSource(options.file))
    database.run(f"set threads = {len(os.sched_getaffinity(0))}")
    database.use(*(table.name for table in schema.TABLES if table.name not in _ON_DEMAND))
    if options.statement is not None:
        answer(database, options.statement, options.json)
    elif sys.stdin.isatty():
        _prompt(database, options.json)
    else:
        answer(database, sys.stdin.read(), options.json)
    return 0


def answer(database: Database, text: str, as_json: bool) -> None:
    """Of each statement in turn."""
    for statement in database.statements(text):
        _answer_one(database, statement, as_json)


def _answer_one(database: Database, statement: str, as_json: bool) -> None:
    words = {word.lower() for word in re.findall(r"[A-Za-z_]+", statement)}
    database.use(*sorted(words & _ON_DEMAND))
    names, rows = database.ask(statement)
    if as_json:
        from tare.reports.json_report import dump

        print(dump([dict(zip(names, map(plain, row), strict=True)) for row in rows]))
    else:
        say(table_lines(names, rows, sys.stdout.isatty()))


def plain(value: Any) -> Any:
    """A scaled count that is whole is shown whole; anything JSON has no word for as text."""
    if isinstance(value, Decimal):  # what SQL makes of 1.5
        value = float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else value
    return value if value is None or isinstance(value, int | str | bool | list | dict) else str(value)


def table_lines(names: list[str], rows: list[tuple[Any, ...]], cut: bool) -> list[str]:
    """Columns aligned: numbers to the right, text to the left; long values cut on a terminal only."""
    from tare.terminal import shorten

    if not names:
        return []
    rows = [tuple(map(plain, row)) for row in rows]
    cells = [
        [
            "" if value is None else f"{value:.6g}" if isinstance(value, float) else printable(str(value))
            for value in row
        ]
        for row in rows
    ]
    if cut:
        cells = [[shorten(cell, _CELL) for cell in row] for row in cells]
    widths = [max(len(name), *(len(row[i]) for row in cells)) if cells else len(name) for i, name in enumerate(names)]
    right = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(names))]

    def line(parts: list[str]) -> str:
        return "  ".join(p.rjust(w) if r else p.ljust(w) for p, w, r in zip(parts, widths, right, strict=True)).rstrip()

    return [
        line(names),
        "  ".join("-" * w for w in widths),
        *(line(row) for row in cells),
        f"({len(rows)} row{'' if len(rows) == 1 else 's'})",
    ]


def _prompt(database: Database, as_json: bool) -> None:
    import readline  # noqa: F401  (line editing and history for input())

    print(
        "tables: " + ", ".join(table.name for table in schema.TABLES) + "; `tare schema` explains them; end with Ctrl-D"
    )
    waiting = ""
    while True:
        try:
            line = input("   ...> " if waiting else "tare> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            waiting = ""
            continue
        if not waiting and line.strip() in ("quit", "exit", ".quit", r"\q"):
            return
        waiting = f"{waiting}\n{line}".strip()
        if waiting.endswith(";"):
            try:
                answer(database, waiting, as_json)
            except TareError as error:
                say([f"tare: {error.message}"], sys.stderr)
            waiting = ""
