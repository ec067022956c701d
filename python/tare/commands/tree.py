"""`tare tree`: the heap as about:memory shows it, by the paths under which the program reported it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.names import UNKNOWN
from tare.printable import say
from tare.terminal import shorten
from tare.units import human_bytes, human_count, percent, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.dark_matter import Matter
    from tare.recording import Recording
    from tare.terminal import Style

SYNOPSIS = "tare tree FILE [options]"
HELP = (
    "The live heap as a tree of the paths that the program reported (tare/reporter.h), and beside them heap-unclassified:\n"
    "what no report claims, with the sites that make it up. What is below 1 % of the whole is folded."
)
EXAMPLES = """
tare tree app.tare                    when the program last reported
tare tree app.tare --at peak
tare tree app.tare --threshold 0      everything
tare tree app.tare --json | jq .tree
"""

_SITES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.recording import SITE_DEPTH
    from tare.reports.memory_tree import TINY_PERCENT

    parser.add_argument("file", metavar="FILE", help="a trace, or the spool of a recording that died")
    parser.add_argument(
        "--at", metavar="peak|end|TIME", help="the moment; TIME as in 1.5s (default: when the program last reported)"
    )
    parser.add_argument(
        "--threshold",
        type=float,
        default=TINY_PERCENT,
        metavar="PERCENT",
        help=f"fold what is smaller (default: {TINY_PERCENT:g})",
    )
    parser.add_argument(
        "--depth", type=int, default=SITE_DEPTH, metavar="N", help=f"frames that tell sites apart (default: {SITE_DEPTH})"
    )  # fmt: skip
    parser.add_argument("-n", type=int, default=_SITES, metavar="N", help=f"at most N dark sites (default: {_SITES})")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(options: argparse.Namespace) -> int:
    from tare import dark_matter
    from tare.core_source import CoreSource
    from tare.recording import Recording
    from tare.reports import memory_tree
    from tare.reports.dark_matter import as_json
    from tare.terminal import Style, width_of

    if options.depth < 1 or options.n < 0 or not 0 <= options.threshold <= 100:
        raise TareError(USAGE, "tree: --depth is at least 1, -n at least 0, --threshold from 0 to 100")
    recording = Recording(CoreSource(options.file, depth=options.depth))
    matter = dark_matter.divide(recording, options.at, None if options.json else options.n)
    root = memory_tree.tree(matter)
    if options.json:
        from tare.reports.json_report import dump

        print(dump({**as_json(recording, matter), "tree": memory_tree.as_json(root)}))
        return 0
    style, width = Style(sys.stdout), width_of(sys.stdout)
    say(_lines(recording, matter, style, width))
    say(memory_tree.lines(root, options.threshold, width, style))
    say(_dark_sites(matter, style, width))
    return 0


def _lines(recording: Recording, matter: Matter, style: Style, width: int) -> Iterator[str]:
    from tare.reports.dark_matter import notes
    from tare.reports.text_parts import wrapped

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


def _dark_sites(matter: Matter, style: Style, width: int) -> Iterator[str]:
    """What makes up heap-unclassified: a line a site."""
    dark = matter.section("unreported")
    if not dark.groups:
        return
    yield ""
    yield style("heap-unclassified is of", "cyan")
    for group in dark.groups:
        named = group.stack[0] if group.stack else UNKNOWN
        head = (
            f"  {human_bytes(group.amount.usable_bytes):>10}  "
            f"{percent(group.amount.usable_bytes, dark.amount.usable_bytes):>6}  {human_count(group.amount.blocks):>7} blocks  "
        )
        yield head + shorten(str(named), max(width - len(head), 12))
    if dark.matching > len(dark.groups):
        yield shorten(
            f"  ({dark.matching - len(dark.groups):,} more: `tare report FILE --mode dark-matter` has their stacks)",
            width,
        )
