"""`tare resume`: a paused recording goes on; one that sleeps since the program's start begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.commands import pause

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare resume PID [--all]"
HELP = (
    "PID's new blocks are recorded again, or for the first time after `tare run --start-paused`. Blocks born while the\n"
    "recorder slept aren't known: their frees are counted as pre-existing."
)
EXAMPLES = """
tare resume 4711
tare resume 4711 --all       every process of its recording, those to come too
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pause.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    return pause.change(options, "resume")
