"""`tare resume`: a paused recording goes on; one that sleeps since the program's start begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.commands import pause

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare resume PID [--all]"
HELP = (
    "Records new blocks of PID again after `tare pause`, or for the first time after `tare run --start-paused`. Blocks that\n"
    "were allocated during the pause stay unknown; reports count their frees as pre-existing."
)
EXAMPLES = """
tare resume 4711
tare resume 4711 --all       every process of its recording, also future ones
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pause.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    return pause.change(options, "resume")
