"""`tare pause`: a running recording takes no more new blocks, until `tare resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare pause PID [--all]"
HELP = (
    "From now on new blocks of PID aren't recorded, and its allocations cost next to nothing. The ends of blocks that are\n"
    "known go on being recorded, so that no figure goes wrong. PID is a process that `tare run` records."
)
EXAMPLES = """
tare pause 4711
tare pause 4711 --all        every process of its recording, those to come too
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", help="the process")
    parser.add_argument("--all", action="store_true", help="every process of its recording, those to come too")


def run(options: argparse.Namespace) -> int:
    return change(options, "pause")


def change(options: argparse.Namespace, verb: str) -> int:
    from tare import live

    recorded = live.find(live.pid_of(options.pid, verb))
    say([live.ask(recorded, verb, "all" if options.all else "")])
    return 0
