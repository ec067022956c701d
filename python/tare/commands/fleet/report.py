"""`tare fleet report`: the recordings of a store together."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

from tare.commands.fleet.options import add_engine, add_store, add_where, check_forms, store_of
from tare.commands.options import add_html, add_json, add_rows

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet report STORE [--where NAME=PATTERN] [-n N] [--html [-o FILE] | --json] [--engine duckdb|spark]"
HELP = (
    "Prints quantiles over the recordings of a store, by program and build: of gross and tare, of each lens, and of each\n"
    "site with a finding. It names the recordings with most tare. A quantile is shown only if it has a 95 % interval."
)
EXAMPLES = """
tare fleet report fleet/
tare fleet report fleet/ --where program=jq --where canary=yes
tare fleet report fleet/ --html --open                     charts and tables in the browser
tare fleet report fleet/ --json
tare fleet report fleet/ --engine spark                    on the cores of this machine; --spark-master: on a cluster
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_where(parser, "only recordings that fit")
    add_engine(parser)
    add_rows(parser, 10, "sites")
    add_html(parser, "STORE.html")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.progress import Progress
    from tare.reports import fleet_report
    from tare.text.printable import say
    from tare.text.terminal import Style, width_of

    check_forms(options, "fleet report")
    store = store_of(options)
    if options.html:
        from tare.commands.output_file import write_page
        from tare.html import fleet_page

        def write(out: IO[bytes]) -> None:
            with Progress("reading the store"):
                fleet_page.write(store, out, options.rows)

        write_page(options, f"{options.store.resolve().name}.html", "fleet report", write)
    elif options.json:
        from tare.reports.json_report import dump

        with Progress("reading the store"):
            found = fleet_report.as_json(store)
        print(dump(found))
    else:
        with Progress("reading the store"):
            text = list(fleet_report.lines(store, options.rows, Style(sys.stdout), width_of(sys.stdout)))
        say(text)
    return 0
