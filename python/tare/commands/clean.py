"""`tare clean`: deletes folders of recordings that are no longer in use."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from tare.commands.options import add_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from tare import _core

SYNOPSIS = "tare clean [--dry-run] [--json] [FOLDER ...]"
HELP = (
    "`tare run` keeps new events in a folder in /dev/shm. If it is killed, the folder stays and takes memory. The first\n"
    "`tare report` of the trace moves the events into the trace and deletes the folder. `tare clean` deletes the folders\n"
    "of traces that nobody needs, and folders that a killed `tare fleet --engine spark` left in $TMPDIR. It keeps folders of\n"
    "recordings and processes that still run."
)
EXAMPLES = """
tare clean --dry-run         list the folders, delete nothing
tare clean
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="FOLDER",
        help="search these folders (default: /dev/shm, $TMPDIR, $TARE_SPOOL_PARENT)",
    )
    parser.add_argument("--dry-run", action="store_true", help="list the folders, delete nothing")
    add_json(parser, "print one JSON object a line for each folder")


def run(options: argparse.Namespace) -> int:
    from tare.text.units import duration, human_bytes

    freed = 0
    for folder in _leftovers(_parents(options.folders)):
        why = folder.reason_to_stay
        done = "kept" if why else "would be deleted" if options.dry_run else "deleted"
        if not why and not options.dry_run and not folder.remove(folder.path):
            done, why = "kept", "it contains other files"
        freed += 0 if why else folder.bytes
        if options.json:
            row = {"folder": folder.path, "bytes": folder.bytes, "spools": folder.spools, "action": done, "reason": why}
            print(json.dumps(row))
            continue
        age = f", unchanged for {duration(folder.age_ns)}" if folder.age_ns is not None else ""
        print(f"{folder.path}: {human_bytes(folder.bytes)}{age}: {done}{': ' + why if why else ''}")
    if not options.json:
        print(f"{human_bytes(freed)} {'would be ' if options.dry_run else ''}freed")
    return 0


class _Leftover(NamedTuple):
    path: str
    bytes: int
    spools: int
    age_ns: float | None
    reason_to_stay: str
    remove: Callable[[str], bool]  # false: it stays


def _leftovers(parents: list[str]) -> Iterator[_Leftover]:
    from tare import _core
    from tare.fleet import spark_folders

    for each in _core.find_leftover_folders(parents):
        why = _reason_to_stay(each)
        yield _Leftover(each.path, each.bytes, each.spools, _age_ns(each.path), why, _core.remove_leftover_folder)
    for found in spark_folders.find(parents):
        yield _Leftover(found.path, found.bytes, 0, _age_ns(found.path), found.reason_to_stay, spark_folders.remove)


def _age_ns(path: str) -> float | None:
    try:
        return max(0.0, time.time() - os.stat(path).st_mtime) * 1e9
    except FileNotFoundError:
        return None


def _parents(named: list[str]) -> list[str]:
    """Where recordings make their folders, in this environment: see `tare run` in docs/recording.md."""
    usual = [os.environ.get("TARE_SPOOL_PARENT", ""), "/dev/shm", os.environ.get("TMPDIR") or "/tmp"]
    return [os.path.realpath(path) for path in named or usual if path]


def _reason_to_stay(folder: _core.LeftoverFolder) -> str:
    if folder.launcher_lives:
        return "its recording is running"
    if users := folder.users:
        return f"process {users[0]} still uses it" if len(users) == 1 else f"{len(users)} processes still use it"
    return ""
