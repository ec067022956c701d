"""`tare fleet report`: the recordings of a store together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_store, add_where
from tare.commands.options import add_json, add_rows

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet report STORE [--where NAME=PATTERN] [-n N] [--json]"
HELP = (
    "Prints quantiles over the recordings of a store, by program and build: of gross and tare, of each lens, and of each\n"
    "site with a finding. It names the recordings with most tare. A quantile is shown only if it has a 95 % interval."
)
EXAMPLES = """
tare fleet report fleet/
tare fleet report fleet/ --where program=jq --where canary=yes
tare fleet report fleet/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_where(parser, "only recordings that fit")
    add_rows(parser, 10, "sites")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.fleet.store import Store
    from tare.reports import fleet_report
    from tare.text.printable import say
    from tare.text.terminal import Style, width_of

    store = Store(options.store, options.where)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(fleet_report.as_json(store)))
    else:
        say(fleet_report.lines(store, options.rows, Style(sys.stdout), width_of(sys.stdout)))
    return 0
