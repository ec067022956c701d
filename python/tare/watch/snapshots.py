"""Snapshots as files: their names, and which are deleted by age, number and bytes. A name has all facts that this needs."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAME = re.compile(
    r"(?P<program>[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,39})\.(?P<image>[0-9]{1,10}-[0-9a-z]{1,13})\."
    r"(?P<time>[0-9]{8}T[0-9]{9}Z)\.(?P<reason>[a-z]{1,12})\.(?P<live>[0-9]{1,18})\.tare",
    re.ASCII,
)
FINAL = ("killed", "ended")  # reasons of a process' last snapshot
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
_WEEK = 7 * DAY
_FINAL_KEPT = 4 * _WEEK
NEWEST_KEPT = 10  # of a process at any age, so that a clock that jumps forward deletes little


class Snapshot(NamedTuple):
    """Fields of a file's name, and the bytes of the file with those beside it."""

    name: str
    program: str
    image: str  # PID-BEGIN
    time_ms: int  # since 1970
    reason: str
    live_bytes: int
    file_bytes: int = 0

    @property
    def pid(self) -> int:
        return int(self.image.partition("-")[0])


class Limits(NamedTuple):
    snapshots: int = 1000
    file_bytes: int = 1 << 30


def name_of(program: str, image: str, time_ms: int, reason: str, live_bytes: float) -> str:
    safe = re.sub(r"[^A-Za-z0-9_.+-]", "_", program)[:40].lstrip(".") or "program"
    when = datetime.fromtimestamp(time_ms // 1000, timezone.utc).strftime("%Y%m%dT%H%M%S") + f"{time_ms % 1000:03}Z"
    return f"{safe}.{image}.{when}.{reason}.{max(0, min(round(live_bytes), 10**18 - 1))}.tare"


def parsed(name: str, file_bytes: int = 0) -> Snapshot | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    text = match["time"]
    try:
        second = datetime.strptime(text[:15], "%Y%m%dT%H%M%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    time_ms = round(second.timestamp()) * 1000 + int(text[15:18])
    return Snapshot(name, match["program"], match["image"], time_ms, match["reason"], int(match["live"]), file_bytes)


def surplus(snapshots: Iterable[Snapshot], now_ms: int, limits: Limits) -> list[Snapshot]:
    """Those to delete, so that the others keep the limits."""
    by_image: dict[str, list[Snapshot]] = {}
    for each in snapshots:
        by_image.setdefault(each.image, []).append(each)
    deleted, kept = list[Snapshot](), list[Snapshot]()
    for mine in by_image.values():
        mine.sort(key=lambda each: each.time_ms)
        stays = _thinned(mine, now_ms)
        for each in mine:
            (kept if each.name in stays else deleted).append(each)
    last = _kept_longest(by_image, now_ms)
    kept.sort(key=lambda each: (each.name in last, each.time_ms, each.name))
    count, size = len(kept), sum(each.file_bytes for each in kept)
    for each in kept:
        if count <= limits.snapshots and size <= limits.file_bytes:
            break
        deleted.append(each)
        count -= 1
        size -= each.file_bytes
    return deleted


def oldest(snapshots: Sequence[Snapshot], now_ms: int) -> Snapshot | None:
    """The first to delete on a full disk."""
    by_image: dict[str, list[Snapshot]] = {}
    for each in snapshots:
        by_image.setdefault(each.image, []).append(each)
    last = _kept_longest(by_image, now_ms)
    return min(snapshots, key=lambda each: (each.name in last, each.time_ms, each.name), default=None)


def _thinned(mine: list[Snapshot], now_ms: int) -> set[str]:
    """Of one process, the oldest first: all of the last hour, one in 10 minutes of the day, one an hour of the week.

    Of an interval, the snapshot with the largest heap stays. Intervals are parts of the calendar, so that repeated thinning
    chooses the same one.
    """
    stays = {each.name for each in mine[-NEWEST_KEPT:]}
    largest: dict[tuple[int, int], Snapshot] = {}
    for each in mine:
        age = now_ms - each.time_ms
        if age <= HOUR or (each.reason in FINAL and age <= _FINAL_KEPT):
            stays.add(each.name)
        elif age <= _WEEK:
            length = 10 * MINUTE if age <= DAY else HOUR
            interval = (length, each.time_ms // length)
            if interval not in largest or each.live_bytes > largest[interval].live_bytes:
                largest[interval] = each
    return stays | {each.name for each in largest.values()}


def _kept_longest(by_image: dict[str, list[Snapshot]], now_ms: int) -> set[str]:
    """The peak of today and the final snapshot of each process."""
    names = set()
    for mine in by_image.values():
        today = [each for each in mine if each.time_ms // DAY == now_ms // DAY]
        if today:
            names.add(max(today, key=lambda each: (each.live_bytes, each.time_ms)).name)
        names |= {each.name for each in mine if each.reason in FINAL}
    return names
