# SPDX-License-Identifier: Apache-2.0
"""A container of short processes' traces: a line a process, or JSON."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from tare.reports.watched import memory_kill
from tare.text.terminal import shorten
from tare.text.units import human_bytes, human_count, plural
from tare.watch import oom
from tare.watch.oom import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare._core import Member, MemberList

_OUT_OF_MEMORY = {oom.YES: "out of memory", oom.LIKELY: "probably out of memory"}


def lines(path: str, found: MemberList, width: int) -> Iterator[str]:
    """In the order in which the processes ended."""
    size = human_bytes(os.path.getsize(path))
    yield f"{os.path.basename(path)}: {plural(len(found.members), 'trace of a short process', 'traces of short processes')}, {size}"
    for warning in found.warnings:
        yield shorten(f"note: {warning}", width)
    if not found.members:
        return
    name_width = max(len(member.name) for member in found.members)
    ends = [_end(member) for member in found.members]
    end_width = max(map(len, ends))
    for member, end in zip(found.members, ends, strict=True):
        head = f"{human_count(member.events):>8} events  {member.name:<{name_width}}  {end:<{end_width}}  "
        yield shorten(head + shlex.join(member.command or [member.program]), width)
    largest = max(found.members, key=lambda member: member.events)
    base = shlex.quote(path.removesuffix(".short"))
    yield shorten(f"next: tare report {shlex.quote(largest.path)}   tare report {base} --group", width)


def as_json(path: str, found: MemberList) -> dict[str, Any]:
    members = [
        {
            "path": member.path,
            "name": member.name,
            "pid": member.pid,
            "parent_pid": member.parent_pid,
            "program": member.program,
            "command": member.command,
            "forked": member.is_forked,
            "replaced_by_exec": member.was_replaced,
            "wait_status": member.wait_status,
            "memory_kill": memory_kill.facts(Verdict(*member.memory_kill)) if member.memory_kill else None,
            "events": member.events,
            "file_bytes": member.bytes,
        }
        for member in found.members
    ]
    return {"container": path, "members": members, "warnings": list(found.warnings)}


def _end(member: Member) -> str:
    """Its end: exec, a kill for lack of memory, its status, or its signal."""
    if member.was_replaced:
        return "exec"
    if member.memory_kill and member.memory_kill[0] in _OUT_OF_MEMORY:
        return _OUT_OF_MEMORY[member.memory_kill[0]]
    if member.wait_status is None:
        return ""  # not its parent
    if os.WIFSIGNALED(member.wait_status):
        return f"signal {os.WTERMSIG(member.wait_status)}"
    return f"status {os.waitstatus_to_exitcode(member.wait_status)}"
