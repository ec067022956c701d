"""Folders of Spark's files that ended commands left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = "tare-spark-"
# A command locks its folder right after it has made it.
_YOUNG_S = 60.0


class SparkFolder(NamedTuple):
    path: str
    bytes: int
    reason_to_stay: str  # empty: nothing uses it


def find(parents: Iterable[str]) -> Iterator[SparkFolder]:
    """Of this user. Whether a process uses a folder is known by its lock: see spark_java.py."""
    for parent in dict.fromkeys(parents):
        for path in sorted(Path(parent).glob(f"{PREFIX}*")):
            try:
                status = path.lstat()
                if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                    yield SparkFolder(str(path), _bytes_in(path), _reason_to_stay(path, status))
            except OSError:  # its command deletes it at this moment
                continue


def remove(path: str) -> bool:
    """False: a part of it stays."""
    shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


def _reason_to_stay(path: Path, status: os.stat_result) -> str:
    if time.time() - status.st_mtime < _YOUNG_S:
        return "it changed less than a minute ago"
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "`tare fleet --engine spark` still uses it"
    finally:
        os.close(opened)
    return ""


def _bytes_in(path: Path) -> int:
    found = 0
    for folder, _, files in os.walk(path):
        for file in files:
            try:
                found += os.lstat(os.path.join(folder, file)).st_blocks * 512
            except OSError:
                continue
    return found
