"""`tare sql`: queries the tables of a recording; a prompt on a terminal."""

from __future__ import annotations

import os
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tare import schema
from tare.commands.options import add_json
from tare.errors import QUERY, TareError, did_you_mean
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from tare.source.database import Database

SYNOPSIS = 'tare sql FILE ["select ..."] [--json]'
HELP = (
    "Runs SQL statements (DuckDB's dialect) over the tables of a recording. `tare schema` explains the tables. Without a\n"
    "statement, it opens a prompt on a terminal, or reads statements from stdin. Besides SQL it has .tables, .schema TABLE\n"
    "and .help."
)
EXAMPLES = """
tare sql app.tare                                        a prompt; `.help` lists its commands
tare sql app.tare .tables
tare sql app.tare "select api, sum(total_blocks) from site_sizes group by api"
tare sql app.tare "select function, file, line from frames where function like '%parse%'" --json
tare sql app.tare "select * from blocks order by usable_bytes desc limit 10"
"""

# Tables that cost more than a few milliseconds are made when a statement names them.
_ON_DEMAND = {"frames", "sites", "stack_sites", "size_classes"} | {t.name for t in schema.TABLES if t.heavy}
_HELP = (".help", "help", ".h", r"\?")
_TABLES = (".tables", r"\d", r"\dt")
_QUIT = ("quit", "exit", ".quit", ".exit", r"\q")
_COMMANDS = """\
SELECT ...;          run a statement; it ends with a semicolon and may have several lines
.tables              list the tables
.schema [TABLE ...]  list the columns of tables, with their meanings
.help                print this list
.quit                end; so does Ctrl-D
Tab completes names of tables and columns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace of `tare run`")
    parser.add_argument("statement", nargs="?", metavar="SQL", help="a statement, or .tables, .schema TABLE or .help")
    add_json(parser, "print rows as a JSON list of objects")


def run(options: argparse.Namespace) -> int:
    from tare.source.core_source import CoreSource
    from tare.source.database import Database

    # These need no recording, so that `tare sql .tables` works, too.
    command = options.statement
    if command is None and options.file in (*_HELP, *_TABLES) and not os.path.exists(options.file):
        command = options.file
    if command is not None and (lines := meta_command(command)) is not None:
        say(lines)
        return 0
    database = Database(CoreSource(options.file))
    database.run(f"set threads = {len(os.sched_getaffinity(0))}")
    database.use(*(table.name for table in schema.TABLES if table.name not in _ON_DEMAND))
    if options.statement is not None:
        answer(database, options.statement, options.json)
    elif sys.stdin.isatty():
        _prompt(database, options.json)
    else:
        _answer_input(database, options.json)
    return 0


def meta_command(text: str) -> Iterable[str] | None:
    """The lines that .tables, .schema or .help print; None: the text is SQL."""
    from tare.commands.schema import chosen, lines
    from tare.text.terminal import width_of

    word, *names = text.strip().rstrip(";").split() or [""]
    if word in _HELP:
        return _COMMANDS.splitlines()
    if word in _TABLES:
        return table_names()
    if word == ".schema":
        return lines(chosen(names), width_of(sys.stdout))
    if word.startswith("."):
        raise TareError(
            QUERY, f"sql: no command '{word}'{did_you_mean(word, ('.tables', '.schema', '.help', '.quit'))}"
        )
    return None


def table_names() -> list[str]:
    """A line for each table: its name, and the meaning of a row."""
    widest = max(len(table.name) for table in schema.TABLES)
    return [f"{table.name:<{widest}}  {table.row}" for table in schema.TABLES]


def answer(database: Database, text: str, as_json: bool) -> None:
    """Of each statement in turn."""
    for statement in database.statements(text):
        _answer_one(database, statement, as_json)


def _answer_one(database: Database, statement: str, as_json: bool) -> None:
    words = {word.lower() for word in re.findall(r"[A-Za-z_]+", statement)}
    database.use(*sorted(words & _ON_DEMAND))
    names, rows = database.ask(statement)
    rows = [tuple(map(plain, row)) for row in rows]
    if as_json:
        from tare.reports.json_report import dump

        print(dump([dict(zip(names, row, strict=True)) for row in rows]))
    elif names:
        from tare.reports.table import table_of_values

        say(table_of_values(names, rows, cut=sys.stdout.isatty()))


def plain(value: Any) -> Any:
    """Whole scaled counts as integers, and types that JSON doesn't have as text."""
    if isinstance(value, Decimal):  # SQL's type of 1.5
        value = float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else value
    return value if value is None or isinstance(value, int | str | bool | list | dict) else str(value)


def _answer_input(database: Database, as_json: bool) -> None:
    """Lines of .commands, and SQL between them."""
    sql = ""
    for line in sys.stdin:
        if line.startswith("."):
            answer(database, sql, as_json)
            sql = ""
            say(meta_command(line) or ())
        else:
            sql += line
    answer(database, sql, as_json)


def _prompt(database: Database, as_json: bool) -> None:
    _complete_names()
    print(
        f"{len(schema.TABLES)} tables; .tables lists them, .schema TABLE explains one, .help lists commands; Ctrl-D ends"
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
        if not waiting and line.strip().rstrip(";") in _QUIT:
            return
        try:
            if not waiting and (lines := meta_command(line)) is not None:
                say(lines)
                continue
            waiting = f"{waiting}\n{line}".strip()
            if waiting.endswith(";"):
                text, waiting = waiting, ""
                answer(database, text, as_json)
        except TareError as error:
            say([f"tare: {error.message}"], sys.stderr)


def _complete_names() -> None:
    """Line editing, history, and Tab for names of tables and columns."""
    import readline

    names = sorted(
        {name for table in schema.TABLES for name in (table.name, *(column.name for column in table.columns))}
        | {".tables", ".schema", ".help", ".quit"}
    )

    def complete(start: str, number: int) -> str | None:
        found = [name for name in names if name.startswith(start)]
        return found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,;()=<>*+-/'\"")
    readline.parse_and_bind("tab: complete")
