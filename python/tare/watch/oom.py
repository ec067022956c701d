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
    inodes: Mapping[str, int]  # of the folders: a group that is made anew under its name has another one


class Verdict(NamedTuple):
    verdict: str
    group: str = ""  # the folder whose counter decided; empty: the machine's
    before: int | None = None
    after: int | None = None
    deaths: int = 1  # watched processes of the group that ended in that time
    limit_bytes: int | None = None


def counters(groups: Groups, folder: str) -> Counters:
    kills, inodes = {}, {}
    for each in groups.parents(folder) if folder else []:
        inode = groups.inode(each)
        if (count := groups.events(each).oom_kills) is not None:
            kills[each], inodes[each] = count, inode
    return Counters(kills, groups.system_kills(), groups.limit_bytes(folder) if folder else None, inodes)


def judge(
    groups: Groups, group: str, before: Counters, deaths: Mapping[str, int], dying: Counters | None = None
) -> Verdict:
    """`group`: the process' own. `deaths`: by the processes' own group, those found dead together with this one. `dying`: counters after the kill and before
    the end, if the watcher saw the process in between.

    The first group that still exists decides. Its own group may be gone with its last process: systemd removes the group of a
    service that ended, and makes a new one at its restart. Groups above it count the kills of all their groups, so that they show
    a kill, but not which process.
    """
    for folder, was in before.kills.items():
        now = groups.events(folder).oom_kills
        if now is None or now < was or groups.inode(folder) != before.inodes.get(folder):
            now = dying.kills.get(folder) if dying else None
            if now is None or now <= was or dying is None or dying.inodes.get(folder) != before.inodes.get(folder):
                continue
        dead = max(1, deaths.get(folder, 1))
        verdict = _certainty(folder, now - was, dead, direct=folder == group)
        return Verdict(verdict, folder, was, now, dead, before.limit_bytes)
    first, last = before.system_kills, groups.system_kills()
    if first is None or last is None or last < first:
        return Verdict(UNKNOWN, limit_bytes=before.limit_bytes)
    dead = max(1, sum(deaths.values()))
    return Verdict(_certainty("", last - first, dead), "", first, last, dead, before.limit_bytes)


def _certainty(group: str, kills: int, deaths: int, *, direct: bool = False) -> str:
    """By the rule of the core, which holds for recordings, too."""
    from tare import _core

    return _core.memory_kill_certainty(not group, direct, kills, deaths)


def judge_unseen(groups: Groups, before: Counters, deaths: Mapping[str, int]) -> Verdict:
    """Of a process that began and ended between two rounds: its group is unknown. `before`: of the round before, and of the group
    that the other processes were in. A kill in that group or above it is probably its own."""
    first, last = before.system_kills, groups.system_kills()
    dead = max(1, sum(deaths.values()))
    if first is not None and first == last:
        return Verdict(NO, "", first, last, dead)
    for folder, was in before.kills.items():
        now = groups.events(folder).oom_kills
        if now is not None and now > was and groups.inode(folder) == before.inodes.get(folder):
            return Verdict(LIKELY, folder, was, now, dead)
    return Verdict(UNKNOWN, "", first, last, dead) if None not in (first, last) else Verdict(UNKNOWN)
