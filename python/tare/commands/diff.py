"""`tare diff`: the changes between two recordings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.commands.options import add_depth, add_html, add_json, add_rows
from tare.errors import USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare diff A B [options]"
HELP = (
    "Prints B minus A: the totals, each lens, and each site. Sites are matched by the names of their functions, so that\n"
    "recordings of different builds can be compared."
)
EXAMPLES = """
tare diff before.tare after.tare
tare diff /var/lib/tare/redis@1h /var/lib/tare/redis@now     snapshots of `tare watch`
tare diff before.tare after.tare --json | jq '.lenses'
tare diff before.tare after.tare --html --open     graphs in the browser
"""

_SITES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="the trace before the change")
    parser.add_argument("after", metavar="B", help="the trace after the change")
    add_depth(parser)
    add_rows(parser, _SITES, "sites")
    add_html(parser, "A-B.html")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.analysis.difference import between
    from tare.analysis.recording import Recording
    from tare.reports import difference
    from tare.source.core_source import CoreSource

    if (options.output or options.open) and not options.html:
        raise TareError(USAGE, "diff: -o and --open go with --html")
    if options.html and options.json:
        raise TareError(USAGE, "diff: --html and --json are two forms of output; give one")
    before, after = (Recording(CoreSource(file, depth=options.depth)) for file in (options.before, options.after))
    change = between(before, after)
    if options.html:
        from tare.commands.output_file import write_page
        from tare.html import diff_page

        name = f"{_stem(options.before)}-{_stem(options.after)}.html"
        write_page(options, name, "diff", lambda out: diff_page.write(change, out))
    elif options.json:
        from tare.reports.json_report import dump

        print(dump(difference.as_json(change)))
    else:
        from tare.text.terminal import Style, width_of

        say(difference.lines(change, options.rows, Style(sys.stdout), width_of(sys.stdout)))
    return 0


def _stem(path: str) -> str:
    """`app` of `traces/app.tare`."""
    return path.rpartition("/")[2].removesuffix(".tare")
