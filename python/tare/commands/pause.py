"""`tare pause`: a running recording takes no more new blocks, until `tare resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare pause PID [--all]"
HELP = (
    "New blocks of PID aren't recorded until `tare resume PID`. Frees of recorded blocks are still recorded, so that all\n"
    "figures stay right. PID is a process that `tare run` or `tare attach` records."
)
EXAMPLES = """
tare pause 4711
tare pause 4711 --all        every process of its recording, also future ones
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", help="the process")
    parser.add_argument("--all", action="store_true", help="every process of its recording, also future ones")


def run(options: argparse.Namespace) -> int:
    return change(options, "pause")


def change(options: argparse.Namespace, verb: str) -> int:
    from tare.live import launcher_requests

    recorded = launcher_requests.find(launcher_requests.pid_of(options.pid, verb))
    say([launcher_requests.ask(recorded, verb, "all" if options.all else "")])
    return 0
