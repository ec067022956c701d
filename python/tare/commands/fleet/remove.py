"""`tare fleet remove`: recordings out of a store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_store, add_where
from tare.errors import USAGE, TareError

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet remove STORE [RECORDING...] [--where NAME=PATTERN]"
HELP = (
    "Removes recordings from a store, by their path or key or by a condition. Traces stay as they are. The space is free\n"
    "after the next `tare fleet compact`."
)
EXAMPLES = """
tare fleet remove fleet/ a.tare
tare fleet remove fleet/ --where build=1.4.2 --where canary=yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("recordings", metavar="RECORDING", nargs="*", help="paths as they were added, or keys")
    add_where(parser, "remove only recordings that fit")


def run(options: argparse.Namespace) -> int:
    from tare.fleet.store import Store
    from tare.fleet.upkeep import remove

    if not options.recordings and not options.where:
        raise TareError(USAGE, "fleet remove: missing recordings: give RECORDING or --where NAME=PATTERN")
    entries = Store(options.store, options.where).entries
    if options.recordings:
        paths = {os.path.abspath(each) for each in options.recordings}
        keys = set(options.recordings)
        named = [entry for entry in entries if entry["path"] in paths or entry["key"] in keys]
        missing = (paths | keys) - {v for e in named for v in (e["path"], e["key"])}
        absent = [each for each in options.recordings if each in missing and os.path.abspath(each) in missing]
        if absent:
            raise TareError(USAGE, f"fleet remove: {options.store} has no recording {absent[0]}: nothing removed")
        entries = named
    remove(options.store, entries)
    print(f"removed {len(entries)} recordings from {options.store}")
    return 0
