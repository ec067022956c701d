"""`tare fleet diff`: two groups of recordings of a store."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

from tare.commands.fleet.options import add_engine, add_store, add_where, check_forms, store_of
from tare.commands.options import add_html, add_json, add_rows
from tare.fleet.store import condition

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet diff STORE --before NAME=PATTERN --after NAME=PATTERN [--html [-o FILE] | --json] [options]"
HELP = (
    "Compares two groups of recordings, such as two builds. It prints the change of quantiles with 95 % intervals, and the\n"
    "sites whose bytes changed. At most 3 % of the named sites are expected to be chance. Bytes that only moved between\n"
    "callers are marked."
)
EXAMPLES = """
tare fleet diff fleet/ --before build=1.4 --after build=1.5
tare fleet diff fleet/ --before build=1.4 --after build=1.5 --html --open      a chart in the browser
tare fleet diff fleet/ --before build=1.5 --before canary=no --after build=1.5 --after canary=yes
tare fleet diff fleet/ --where program=jq --before build=1.4 --after build=1.5 --measure tare --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    for name, which in (("--before", "the first group"), ("--after", "the second group")):
        parser.add_argument(
            name, metavar="NAME=PATTERN", type=condition, action="append", required=True, help=f"recordings of {which}; repeatable"
        )  # fmt: skip
    add_where(parser, "only recordings that fit, in both groups")
    parser.add_argument("--measure", choices=("gross", "end", "tare", "calls"), default="gross", help="compare sites by gross bytes at the peak or the end, by tare, or by allocations (default: gross)")  # fmt: skip
    parser.add_argument("--unit", choices=("machine", "recording"), default="machine", help="treat as independent: machines, or recordings (default: machine)")  # fmt: skip
    add_engine(parser)
    add_rows(parser, 20, "sites")
    add_html(parser, "STORE.diff.html")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.fleet.comparison import compare
    from tare.progress import Progress
    from tare.reports import fleet_difference
    from tare.text.printable import say
    from tare.text.terminal import Style, width_of

    check_forms(options, "fleet diff")
    with Progress("comparing recordings"):
        limit = None if options.json else options.rows
        result = compare(store_of(options), options.before, options.after, options.measure, options.unit, limit)
    if options.html:
        from tare.commands.output_file import write_page
        from tare.html import fleet_diff_page

        def write(out: IO[bytes]) -> None:
            groups = (options.before, options.after)
            fleet_diff_page.write(result, options.measure, options.unit, options.store, groups, out)

        write_page(options, f"{options.store.resolve().name}.diff.html", "fleet diff", write)
    elif options.json:
        from tare.reports.json_report import dump

        print(dump(fleet_difference.as_json(result, options.measure)))
    else:
        width = width_of(sys.stdout)
        say(fleet_difference.lines(result, options.measure, options.unit, Style(sys.stdout), width))
    return 0
