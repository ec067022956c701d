"""`tare diff`: what changed between two recordings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare diff A B [-n N] [--json]"
HELP = (
    "B minus A, signed: the totals, each lens, and each site. Sites are matched by the names of their functions, so that\n"
    "rebuilt programs and other addresses compare."
)
EXAMPLES = """
tare diff before.tare after.tare
tare diff before.tare after.tare --json | jq '.lenses'
"""

_SITES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.recording import SITE_DEPTH

    parser.add_argument("before", metavar="A", help="the trace of before")
    parser.add_argument("after", metavar="B", help="the trace of after")
    parser.add_argument(
        "--depth",
        type=int,
        default=SITE_DEPTH,
        metavar="N",
        help=f"frames that tell sites apart (default: {SITE_DEPTH})",
    )
    parser.add_argument("-n", type=int, default=_SITES, metavar="N", help=f"at most N sites (default: {_SITES})")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(options: argparse.Namespace) -> int:
    from tare.core_source import CoreSource
    from tare.recording import Recording
    from tare.reports import difference

    before, after = (Recording(CoreSource(file, depth=options.depth)) for file in (options.before, options.after))
    change = difference.between(before, after)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(difference.as_json(change)))
    else:
        from tare.terminal import Style, width_of

        say(difference.lines(change, options.n, Style(sys.stdout), width_of(sys.stdout)))
    return 0
