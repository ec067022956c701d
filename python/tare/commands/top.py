"""`tare top`: a running program's heap as it changes: rates, live bytes, the sites that hold them, findings so far."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.printable import printable_json, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.live_looks import Look, Looker

SYNOPSIS = "tare top PID [options]"
HELP = (
    "Looks every few seconds at what a recorded process has live, what it allocated since the look before, and what the\n"
    "lenses find so far. PID is a process that `tare run` or `tare attach` records, or that `tare run` itself: then the\n"
    "one of its processes that did most. The process isn't stopped, its launcher makes the figures: at most 2 % of a CPU."
)
EXAMPLES = """
tare top 4711
tare top 4711 --sort rate --interval 1
tare top 4711 --once                  one look as text
tare top 4711 --once --json | jq .live
tare top $(pgrep -nf 'tare run')      what that command records
"""

_SITES = 12
_LEAST_INTERVAL_S = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.live_looks import MOST_SITES, ORDERS

    parser.add_argument("pid", metavar="PID", help="the process, or the `tare run` that records it")
    parser.add_argument("--once", action="store_true", help="one look, its rates over the whole recording so far")
    parser.add_argument("--interval", metavar="SECONDS", default="2", help="between looks (default: 2)")
    parser.add_argument("--sort", choices=ORDERS, default="live", help="sites in this order (default: live)")
    parser.add_argument(
        "-n", type=int, default=_SITES, metavar="N", help=f"at most N sites, up to {MOST_SITES} (default: {_SITES})"
    )
    parser.add_argument("--plain", action="store_true", help="text, a look below the other, also on a terminal")
    parser.add_argument("--json", action="store_true", help="a JSON object a look, each on a line")


def run(options: argparse.Namespace) -> int:
    from tare import live
    from tare.live_looks import Looker

    pid = live.pid_of(options.pid, "top")
    interval_s = _interval(options.interval)
    if options.n < 0:
        raise TareError(USAGE, "top: -n is at least 0")
    looker = Looker(pid)
    if not (options.once or options.plain or options.json) and sys.stdout.isatty() and sys.stdin.isatty():
        return _on_screen(looker, interval_s, options)
    show = _show_json if options.json else _show_text
    if options.once:
        show(looker.look(), options)
        return 0
    for number, look in enumerate(looks(looker, interval_s)):
        if number and not options.json:
            print()
        show(look, options)
        sys.stdout.flush()
    say([f"tare: process {pid} has ended"], sys.stderr)
    return 0


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _LEAST_INTERVAL_S <= seconds < float("inf"):
        raise TareError(USAGE, f"top: --interval takes seconds, at least {_LEAST_INTERVAL_S:g}, not '{text}'")
    return seconds


def looks(looker: Looker, interval_s: float) -> Iterator[Look]:
    """Until the process ends; a first look that fails is an error."""
    from tare.live_looks import ended

    first = True
    while True:
        try:
            look = looker.look()
        except TareError as error:
            if first or not ended(looker, error):
                raise
            return
        first = False
        yield look
        time.sleep(max(interval_s, look.rest_s))


def _show_text(look: Look, options: argparse.Namespace) -> None:
    from tare.reports import live_view
    from tare.terminal import Style, width_of

    say(live_view.lines(look, options.sort, options.n, Style(sys.stdout), width_of(sys.stdout)))


def _show_json(look: Look, options: argparse.Namespace) -> None:
    import json

    from tare.reports import live_view

    print(printable_json(json.dumps(live_view.as_json(look, options.sort, options.n), ensure_ascii=False)))


def _on_screen(looker: Looker, interval_s: float, options: argparse.Namespace) -> int:
    try:
        from tare.tui.top import Top
    except ImportError:
        raise TareError(
            USAGE, "top: the screen needs textual (pip install 'heaptare[top]'); --plain and --once do without"
        ) from None
    app = Top(looker, interval_s, options.sort)
    app.run()
    if app.failure is not None:
        raise app.failure
    if app.over:
        say([f"tare: process {looker.pid} has ended"], sys.stderr)
    return 0
