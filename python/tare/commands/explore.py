"""`tare explore`: a recording on a screen of the terminal, finished or in progress."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.options import add_depth, add_suppressions, seconds
from tare.errors import USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

    from tare.explore.explorer import Explorer

SYNOPSIS = "tare explore FILE|PID [options]"
HELP = (
    "Shows a recording on a screen of the terminal: findings, sites, the tree of stacks and the timeline, with search, filters,\n"
    "times and ranges. `e` opens a line in the editor, `?` lists all keys. With the number of a process it shows a recording in\n"
    "progress, as `tare top` does."
)
EXAMPLES = """
tare explore app.tare
tare explore new.tare --baseline old.tare   what came, went and changed
tare explore 4711                           a process that `tare run` records
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE|PID", help="a trace of `tare run`, or a process that is being recorded")
    parser.add_argument("--baseline", metavar="FILE", help="a second recording: amounts are compared with its own")
    parser.add_argument(
        "--interval",
        type=seconds,
        metavar="TIME",
        default=2.0,
        help="PID: time between updates, such as 500ms (default: 2)",
    )
    add_depth(parser)
    add_suppressions(parser)


def run(options: argparse.Namespace) -> int:
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise TareError(
            USAGE, "explore: needs a terminal; `tare report` prints text, and `tare report --html` writes a page"
        )
    try:
        import textual  # noqa: F401
    except ImportError:
        raise TareError(
            USAGE, "explore: missing package textual: pip install 'heaptare[tui]', or use `tare report --html --open`"
        ) from None
    if options.file.isdecimal() and not os.path.exists(options.file):
        if options.baseline:
            raise TareError(USAGE, "explore: --baseline goes with a file")
        return live(options.file, "explore", options.interval, "live")
    from tare.progress import shown_by
    from tare.tui.explore import Explore

    app = Explore(lambda: _explorer(options), options.file)
    with shown_by(app.progress):
        app.run()
    if app.failure is not None:
        raise app.failure
    return 0


def _explorer(options: argparse.Namespace) -> Explorer:
    from tare import lenses
    from tare.analysis.recording import Recording
    from tare.explore.explorer import Explorer
    from tare.source.core_source import CoreSource

    recordings = [
        Recording(CoreSource(file, depth=options.depth, suppressions=options.suppressions), lenses.names_for([]))
        for file in (options.file, options.baseline)
        if file
    ]
    return Explorer(*recordings)


def live(pid: str, verb: str, interval_s: float, order: str) -> int:
    """The screen of a process that is being recorded."""
    from tare.live import launcher_requests
    from tare.live.live_figures import FiguresReader
    from tare.tui.live import Live

    reader = FiguresReader(launcher_requests.pid_of(pid, verb))
    app = Live(reader, interval_s, order)
    app.run()
    if app.failure is not None:
        raise app.failure
    if app.over:
        say([f"tare: process {reader.pid} has ended"], sys.stderr)
    return 0
