"""`tare snapshot`: takes a snapshot of a running program's live blocks, now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare snapshot PID [--name NAME]"
HELP = (
    "Stops PID for some milliseconds and stores the contents of its live blocks and the pointers to them in its recording:\n"
    "a row of table `snapshots`, and a checkpoint for `tare check --series`. A program can call tare_snapshot() for the same\n"
    "(tare/reporter.h)."
)
EXAMPLES = """
tare snapshot 4711
tare snapshot 4711 --name after-load
"""

_MOST_NAME = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", help="the process")
    parser.add_argument("--name", default="", metavar="NAME", help="the snapshot's name")


def run(options: argparse.Namespace) -> int:
    from tare.live import launcher_requests

    pid = launcher_requests.pid_of(options.pid, "snapshot")
    if not options.name.isprintable() or len(options.name.encode()) > _MOST_NAME:
        raise TareError(USAGE, f"snapshot: --name needs printable text of at most {_MOST_NAME} bytes")
    say([launcher_requests.ask(launcher_requests.find(pid), "snapshot", name=options.name)])
    return 0
