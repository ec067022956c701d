"""`tare top`: a running program's heap as it changes: rates, live bytes, the sites that hold them, findings so far."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tare.commands.options import add_json, add_rows, seconds
from tare.errors import USAGE, TareError
from tare.text.printable import printable_json, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.live.live_figures import Figures, FiguresReader
    from tare.live.watched_heap import WatchedHeap

SYNOPSIS = "tare top PID|FOLDER [options]"
HELP = (
    "Shows a recorded process every few seconds: its live blocks, the allocations since the last update, and findings so\n"
    "far. PID is a process that `tare run` or `tare attach` records, or the process of `tare run` itself. The process isn't\n"
    "stopped. Updates take at most 2 % of one CPU. FOLDER is one of `tare watch`: its process with the largest heap is\n"
    "shown, or that of FOLDER/PID."
)
EXAMPLES = """
tare top 4711
tare top 4711 --sort rate --interval 1
tare top 4711 --once                  print once, as text
tare top 4711 --once --json | jq .live
tare top $(pgrep -nf 'tare run')      the program that this `tare run` records
tare top /var/lib/tare/redis          a watched process: its largest sites, with standard errors
"""

_SITES = 12
_LEAST_INTERVAL_S = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.live.live_figures import MOST_SITES, ORDERS

    parser.add_argument(
        "pid", metavar="PID|FOLDER", help="the process, the `tare run` that records it, or a folder of `tare watch`"
    )
    parser.add_argument("--once", action="store_true", help="print once; rates are averages over the recording so far")
    parser.add_argument(
        "--interval", type=seconds, metavar="TIME", default=2.0, help="time between updates, such as 500ms (default: 2)"
    )
    parser.add_argument("--sort", choices=ORDERS, default="live", help="order of sites, descending (default: live)")
    add_rows(parser, _SITES, f"sites, up to {MOST_SITES}")
    parser.add_argument(
        "--plain", action="store_true", help="print text, one update below the other, also on a terminal"
    )
    add_json(parser, "print one JSON object a line for each update")


def run(options: argparse.Namespace) -> int:
    from tare.live import launcher_requests, watched_heap
    from tare.live.live_figures import FiguresReader

    interval_s = options.interval
    if interval_s < _LEAST_INTERVAL_S:
        raise TareError(USAGE, f"top: --interval is at least {_LEAST_INTERVAL_S:g} seconds")
    if watched_heap.is_watched(options.pid):
        return _watched(watched_heap.WatchedHeap(options.pid), options)
    pid = launcher_requests.pid_of(options.pid, "top")
    if not (options.once or options.plain or options.json) and sys.stdout.isatty() and sys.stdin.isatty():
        return _on_screen(str(pid), interval_s, options.sort)
    reader = FiguresReader(pid)
    show = _show_json if options.json else _show_text
    if options.once:
        show(reader.read(), options)
        return 0
    for number, figures in enumerate(all_figures(reader, interval_s)):
        if number and not options.json:
            print()
        show(figures, options)
        sys.stdout.flush()
    say([f"tare: process {pid} has ended"], sys.stderr)
    return 0


def _watched(reader: WatchedHeap, options: argparse.Namespace) -> int:
    """Text or JSON, also on a terminal: the file has the largest sites and no rates."""
    import json

    from tare.reports.watched import top
    from tare.text.terminal import width_of

    if options.sort not in top.ORDERS:
        raise TareError(USAGE, f"top: of a watched process, --sort is {' or '.join(top.ORDERS)}")
    before = None
    while (found := reader.read()) is not None:
        if options.json:
            print(
                printable_json(json.dumps(top.as_json(found, before, options.sort, options.rows), ensure_ascii=False))
            )
        else:
            say(
                [*([""] if before else []), *top.lines(found, before, options.sort, options.rows, width_of(sys.stdout))]
            )
        sys.stdout.flush()
        if options.once:
            return 0
        before = found
        time.sleep(options.interval)
    say(["tare: the process has ended"], sys.stderr)
    return 0


def all_figures(reader: FiguresReader, interval_s: float) -> Iterator[Figures]:
    """Until the process ends; a first reading that fails is an error."""
    from tare.live.live_figures import ended

    first = True
    while True:
        try:
            figures = reader.read()
        except TareError as error:
            if first or not ended(reader, error):
                raise
            return
        first = False
        yield figures
        time.sleep(max(interval_s, figures.rest_s))


def _show_text(figures: Figures, options: argparse.Namespace) -> None:
    from tare.reports import live_view
    from tare.text.terminal import Style, width_of

    say(live_view.lines(figures, options.sort, options.rows, Style(sys.stdout), width_of(sys.stdout)))


def _show_json(figures: Figures, options: argparse.Namespace) -> None:
    import json

    from tare.reports import live_view

    print(printable_json(json.dumps(live_view.as_json(figures, options.sort, options.rows), ensure_ascii=False)))


def _on_screen(pid: str, interval_s: float, order: str) -> int:
    try:
        import textual  # noqa: F401
    except ImportError:
        raise TareError(
            USAGE, "top: missing package textual: pip install 'heaptare[tui]', or use --plain or --once"
        ) from None
    from tare.commands.explore import live

    return live(pid, "top", interval_s, order)
