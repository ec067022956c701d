"""`tare fleet verify`: damage in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_store
from tare.commands.options import add_json

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet verify STORE [--json]"
HELP = "Reads each file that a store needs, and compares it with the hash under which it was written."
EXAMPLES = """
tare fleet verify fleet/
tare fleet verify fleet/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.errors import CORRUPT, TareError
    from tare.fleet.upkeep import verify
    from tare.text.units import plural

    files, damage = verify(options.store)
    if options.json:
        from tare.reports.json_report import dump

        print(dump({"files": files, "damaged": [each._asdict() for each in damage]}))
    else:
        for each in damage:
            of = f", with rows of {', '.join(each.recordings[:3])}" if each.recordings else ""
            more = f" and {len(each.recordings) - 3} more" if len(each.recordings) > 3 else ""
            print(f"{each.file} {each.reason}{of}{more}")
        if not damage:
            print(f"{plural(files, 'file')} of {options.store} checked: no damage")
    if damage:
        raise TareError(
            CORRUPT,
            f"fleet verify: {plural(len(damage), 'file')} of {options.store} {'is' if len(damage) == 1 else 'are'} damaged:"
            " remove the recordings that are named, and add them again",
        )
    return 0
