"""`tare fleet retain`: removes old recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_store
from tare.commands.options import at_least_one
from tare.errors import USAGE, TareError

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet retain STORE [--days N] [--builds N]"
HELP = "Removes recordings that are older than a number of days, or of builds older than the newest N of their program."
EXAMPLES = """
tare fleet retain fleet/ --days 90
tare fleet retain fleet/ --builds 20 && tare fleet compact fleet/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--days", type=at_least_one, metavar="N", help="keep recordings that started within N days")
    parser.add_argument("--builds", type=at_least_one, metavar="N", help="keep the newest N builds of each program")


def run(options: argparse.Namespace) -> int:
    from tare.fleet.store import Store
    from tare.fleet.upkeep import expired, remove

    if options.days is None and options.builds is None:
        raise TareError(USAGE, "fleet retain: missing limit: give --days N or --builds N")
    store = Store(options.store)
    old = expired(store, days=options.days, builds=options.builds)
    remove(options.store, old)
    print(f"removed {len(old)} of {len(store.all_entries)} recordings from {options.store}")
    return 0
