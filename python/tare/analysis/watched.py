"""How a watched process ended, and the sites that had grown before: from the note beside its final snapshot and earlier snapshots."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.difference import stable_names
from tare.errors import TareError
from tare.watch import notes, snapshots

if TYPE_CHECKING:
    from tare.analysis.difference import Key
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame
    from tare.watch.notes import Note
    from tare.watch.snapshots import Snapshot

_LOOK_BACK_MS = snapshots.HOUR
_STANDARD_ERRORS = 2.0  # a growth below that many isn't listed


class SiteGrowth(NamedTuple):
    stack: list[Frame]
    grown_bytes: float
    error_bytes: float  # one standard error
    live_bytes: float


class LiveSite(NamedTuple):
    stack: list[Frame]
    live_bytes: float
    variance: float  # square of the standard error


class Growth(NamedTuple):
    since: Snapshot
    until: Snapshot
    sites: list[SiteGrowth]  # those that grew by more than their error, the largest first
    change_bytes: float
    error_bytes: float


def note_of(recording: Recording) -> Note | None:
    return notes.beside(recording.path)


def growth_of(recording: Recording) -> Growth | None:
    """Since the oldest snapshot of the last hour; if there is none, since the one before. None: no earlier one is left."""
    folder, name = os.path.split(recording.path)
    final = snapshots.parsed(name)
    if final is None:
        return None
    try:
        listed = [snapshots.parsed(each) for each in os.listdir(folder or ".")]
    except OSError:
        return None
    earlier = [
        each
        for each in listed
        if each is not None and each.image == final.image and each.time_ms < final.time_ms and each.reason != "exact"
    ]
    recent = [each for each in earlier if final.time_ms - each.time_ms <= _LOOK_BACK_MS]
    for since in [min(recent, key=_time)] if recent else [max(earlier, key=_time)] if earlier else []:
        try:
            return _between(_opened(os.path.join(folder, since.name), recording), recording, since, final)
        except TareError:  # rotated away meanwhile, or damaged
            return None
    return None


def _time(snapshot: Snapshot) -> int:
    return snapshot.time_ms


def _opened(path: str, like: Recording) -> Recording:
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    return Recording(CoreSource(path, depth=like.source.depth))


def _between(before: Recording, after: Recording, since: Snapshot, until: Snapshot) -> Growth:
    old, new = live_sites(before), live_sites(after)
    sites = []
    change, variance = 0.0, 0.0
    for key in old.keys() | new.keys():
        was, now = old.get(key), new.get(key)
        grown = (now.live_bytes if now else 0.0) - (was.live_bytes if was else 0.0)
        # An upper bound: blocks that live in both snapshots are in both samples, and their errors cancel out.
        both = (now.variance if now else 0.0) + (was.variance if was else 0.0)
        change += grown
        variance += both
        if now and grown > _STANDARD_ERRORS * math.sqrt(both):
            sites.append(SiteGrowth(now.stack, grown, math.sqrt(both), now.live_bytes))
    sites.sort(key=lambda each: (-each.grown_bytes, tuple(frame.name for frame in each.stack)))
    return Growth(since, until, sites, change, math.sqrt(variance))


def live_sites(recording: Recording) -> dict[Key, LiveSite]:
    """By the names of a site's functions, at the end."""
    recording.database.use("sites", "stack_sites", "site_sizes")
    rows = recording.database.rows(
        """
        select s.site_id, sum(1.0 * (usable_bytes + header_bytes) * end_blocks),
               sum(1.0 * (usable_bytes + header_bytes) * (usable_bytes + header_bytes) * end_blocks * (weight - 1))
        from site_sizes z join stack_sites s on s.stack_id = z.stack_id
        group by s.site_id
        """
    )
    stacks = recording.site_stacks([row[0] for row in rows])
    sums: dict[Key, LiveSite] = {}
    for site_id, size, variance in rows:
        key = stable_names(stacks[site_id])
        frames, known, known_variance = sums.get(key, (stacks[site_id], 0.0, 0.0))
        sums[key] = LiveSite(frames, known + size, known_variance + max(0.0, variance))
    return sums
