"""`tare fleet add`: recordings into a store."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_store
from tare.errors import TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet add STORE RECORDING... [--build NAME] [--machine NAME] [--label NAME=VALUE]"
HELP = (
    "Adds the sums of recordings to a store: per site and lens, with the names of functions. STORE is a folder, which the\n"
    "first add makes. A recording that the store has already isn't added again. Any number of processes can add at once."
)
EXAMPLES = """
tare fleet add fleet/ *.tare                                  the build id and the host name stand for build and machine
tare fleet add fleet/ a.tare --build 1.4.2 --machine web-17
tare fleet add fleet/ a.tare --label canary=yes --label region=eu
TARE_FLEET_BUILD=$(git rev-parse --short HEAD) tare fleet add fleet/ a.tare
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("recordings", metavar="RECORDING", nargs="+", help="traces of `tare run`")
    parser.add_argument(
        "--build",
        metavar="NAME",
        default="",
        help="the build of the program (default: $TARE_FLEET_BUILD, or the start of its build id)",
    )
    parser.add_argument(
        "--machine",
        metavar="NAME",
        default="",
        help="the machine (default: $TARE_FLEET_MACHINE, or the recorded host name)",
    )
    parser.add_argument("--label", metavar="NAME=VALUE", action="append", type=label, default=[], help="a label of the recordings, beside those of $TARE_FLEET_LABELS; repeatable")  # fmt: skip


def label(text: str) -> tuple[str, str]:
    from tare.fleet.store import FIELDS

    name, separator, value = text.partition("=")
    if not separator or not name or name in FIELDS:
        raise ValueError(f"NAME=VALUE, where NAME isn't {', '.join(FIELDS)}")
    return name, value


def run(options: argparse.Namespace) -> int:
    from tare.errors import USAGE
    from tare.fleet.adding import Origin, add
    from tare.progress import Progress

    try:
        listed = os.environ.get("TARE_FLEET_LABELS", "")
        labels = dict(label(each) for each in listed.split(",") if each) | dict(options.label)
    except ValueError as error:
        raise TareError(
            USAGE, f"fleet add: $TARE_FLEET_LABELS needs {error}, separated by commas: '{listed}'"
        ) from None
    origin = Origin(
        options.build or os.environ.get("TARE_FLEET_BUILD", ""),
        options.machine or os.environ.get("TARE_FLEET_MACHINE", ""),
        labels,
    )
    added, known, failed = 0, 0, None
    with Progress("adding recordings") as progress:
        for number, trace in enumerate(options.recordings):
            try:
                if add(options.store, trace, origin):
                    added += 1
                else:
                    known += 1
            except TareError as error:  # one bad file among a thousand
                progress.clear()
                say([f"tare: {error.message}"], sys.stderr)
                failed = error
            progress.update((number + 1) / len(options.recordings))
    also = f", {known} in the store already" if known else ""
    print(f"added {added} of {len(options.recordings)} recordings to {options.store}{also}")
    return failed.exit_status if failed else 0
