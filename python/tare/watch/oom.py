"""Whether a killed process was killed for lack of memory: counters of its control group before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.watch.pressure import Groups

# Verdicts, from certain to unknown.
YES, LIKELY, NO, UNKNOWN = "yes", "likely", "no", "unknown"


class Counters(NamedTuple):
    """While the process was alive. Groups by folder, the process' own first; a group without a counter isn't there."""

    kills: Mapping[str, int]
    system_kills: int | None
    limit_bytes: int | None


class Verdict(NamedTuple):
    verdict: str
    group: str = ""  # the folder whose counter decided; empty: the machine's
    before: int | None = None
    after: int | None = None
    deaths: int = 1  # watched processes of the group that ended in that time
    limit_bytes: int | None = None


def counters(groups: Groups, folder: str) -> Counters:
    kills = {}
    for each in groups.parents(folder) if folder else []:
        if (count := groups.events(each).oom_kills) is not None:
            kills[each] = count
    return Counters(kills, groups.system_kills(), groups.limit_bytes(folder) if folder else None)


def judge(groups: Groups, before: Counters, deaths: Mapping[str, int]) -> Verdict:
    """`deaths`: by the processes' own group, those found dead together with this one.

    The first group that still exists decides. Its own group may be gone with its last process; groups above it count the kills of
    all their groups, so that they show a kill, but not which process.
    """
    for position, (folder, was) in enumerate(before.kills.items()):
        now = groups.events(folder).oom_kills
        if now is None or now < was:  # the group is gone, or was made anew
            continue
        dead = max(1, deaths.get(folder, 1))
        verdict = NO if now == was else YES if position == 0 and now - was >= dead else LIKELY
        return Verdict(verdict, folder, was, now, dead, before.limit_bytes)
    first, last = before.system_kills, groups.system_kills()
    if first is None or last is None or last < first:
        return Verdict(UNKNOWN, limit_bytes=before.limit_bytes)
    verdict = NO if last == first else UNKNOWN  # no process of the machine was killed, or any was
    return Verdict(verdict, "", first, last, max(1, sum(deaths.values())), before.limit_bytes)
