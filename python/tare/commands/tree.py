"""`tare tree`: the heap as about:memory shows it, by the paths under which the program reported it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tare.commands.options import add_json, add_trace, share
from tare.reports.text_parts import wrapped
from tare.text.printable import say
from tare.text.units import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.analysis.dark_matter import Matter
    from tare.analysis.recording import Recording
    from tare.text.terminal import Style

SYNOPSIS = "tare tree FILE [options]"
HELP = (
    "Prints the bytes of live blocks as a tree of paths, as Firefox's about:memory does. Programs report their blocks under\n"
    "paths by tare/reporter.h; all other blocks are heap-unclassified. `tare report FILE --mode dark-matter` prints the\n"
    "stacks of the unreported blocks, and of blocks that are reported twice."
)
EXAMPLES = """
tare tree app.tare                    at the program's last memory report
tare tree app.tare --at peak
tare tree app.tare --threshold 0      also paths below 1 % of the heap
tare tree app.tare --json | jq .tree
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.reports.memory_tree import TINY_PERCENT

    add_trace(parser)
    parser.add_argument(
        "--at",
        metavar="peak|end|TIME",
        help="the time: 1.5s or 300ms after the start (default: the last memory report)",
    )
    parser.add_argument(
        "--threshold",
        type=share,
        default=TINY_PERCENT,
        metavar="PERCENT",
        help=f"fold paths below this share of the heap (default: {TINY_PERCENT:g})",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.analysis import dark_matter
    from tare.analysis.recording import Recording
    from tare.reports import memory_tree
    from tare.source.core_source import CoreSource
    from tare.text.terminal import Style, width_of

    recording = Recording(CoreSource(options.file))
    matter = dark_matter.divide(recording, options.at, 0)
    root = memory_tree.tree(matter)
    if options.json:
        from tare.reports.json_report import dump

        print(dump({**_head_json(recording, matter), "tree": memory_tree.as_json(root)}))
        return 0
    style, width = Style(sys.stdout), width_of(sys.stdout)
    say(_lines(recording, matter, style, width))
    say(memory_tree.lines(root, options.threshold, width, style))
    if matter.section("unreported").matching:
        say(["", *wrapped(f"unreported blocks by site: tare report {options.file} --mode dark-matter", width)])
    return 0


def _head_json(recording: Recording, matter: Matter) -> dict[str, Any]:
    """As of `report --mode dark-matter`, which has the blocks."""
    from tare.reports.dark_matter import as_json

    return {name: value for name, value in as_json(recording, matter).items() if name != "sections"}


def _lines(recording: Recording, matter: Matter, style: Style, width: int) -> Iterator[str]:
    from tare.reports.dark_matter import notes

    for line in wrapped(f"{recording.title}: the heap {matter.when}", width):
        yield style(line, "bold")
    for note in notes(matter):
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    twice = matter.section("twice-reported")
    if twice.matching:
        text = f"note: {plural(twice.amount.blocks, 'block is', 'blocks are')} reported twice, and counted where reported first"
        for line in wrapped(text, width):
            yield style(line, "red")
    yield ""
