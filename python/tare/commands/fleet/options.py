"""Options that several verbs of `fleet` take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tare.fleet.store import condition

if TYPE_CHECKING:
    import argparse


def add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", type=Path, help="the folder of the store")


def add_where(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--where",
        metavar="NAME=PATTERN",
        type=condition,
        action="append",
        default=[],
        help=f"{what}: NAME is program, build, machine, path, key or a label; PATTERN may have * and ?; repeatable",
    )
