"""`tare fleet compact`: few large files in place of many small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_store

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare fleet compact STORE"
HELP = (
    "Merges the small files of each bucket, and drops the rows of removed recordings. Adding and reading can go on.\n"
    "Files that nothing needs any more are deleted an hour later, by the next `tare fleet compact`."
)
EXAMPLES = """
tare fleet compact fleet/                                           once a day, or after some thousand adds
tare fleet retain fleet/ --builds 20 && tare fleet compact fleet/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)


def run(options: argparse.Namespace) -> int:
    from tare.fleet.layout import check
    from tare.fleet.upkeep import compact
    from tare.progress import Progress

    check(options.store)
    with Progress("merging files"):
        before, after = compact(options.store)
    print(f"{after} data files are in use in {options.store}; {before} were there before")
    return 0
