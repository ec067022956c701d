"""`tare snapshot`: a look into a running program's live blocks, now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare snapshot PID [--name NAME]"
HELP = (
    "PID stands still for some ms, and what its live blocks hold and what points to them becomes a moment of its\n"
    "recording: table `moments`, and a checkpoint for `tare check --series`. A program calls tare_snapshot() for the same\n"
    "(tare/reporter.h)."
)
EXAMPLES = """
tare snapshot 4711
tare snapshot 4711 --name after-load
"""

_MOST_NAME = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", help="the process")
    parser.add_argument("--name", default="", metavar="NAME", help="the moment's name")


def run(options: argparse.Namespace) -> int:
    from tare import live

    pid = live.pid_of(options.pid, "snapshot")
    if not options.name.isprintable() or len(options.name.encode()) > _MOST_NAME:
        raise TareError(USAGE, f"snapshot: a name is printable, and {_MOST_NAME} bytes at most")
    say([live.ask(live.find(pid), "snapshot", name=options.name)])
    return 0
