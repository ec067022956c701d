"""Processes of a group and their roles: the program, and how the process came to be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.analysis.account import program_rss_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Their first argument is the program that a person means.
_INTERPRETERS = re.compile(r"(ba|da|z|k)?sh|python[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|php[0-9.]*|lua[0-9.]*")
_NUMBER = re.compile(r"[0-9]+")


class GroupProcess(NamedTuple):
    """One process image of a group."""

    path: str
    pid: int
    parent_pid: int
    image: int  # counts the images that exec put into this process, from 0
    program: str
    words: Sequence[str]  # of its command line
    title: str  # that it wrote over the command line; empty: none
    is_forked: bool
    was_replaced: bool  # by exec
    start_ns: int  # since 1970
    duration_ns: int
    events: int
    peak_gross_bytes: float  # without inherited blocks
    inherited_bytes: float  # gross bytes of the parent's blocks at the peak
    peak_rss_bytes: int  # without the recorder's memory; 0: unknown
    warnings: Sequence[str]

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns


class Role(NamedTuple):
    name: str  # of the program
    origin: str  # `forked by postgres`, `started by bash`, `first process`

    def __str__(self) -> str:
        return f"{self.name}, {self.origin}"


def process_of(path: str, row: Mapping[str, Any], inherited_bytes: float, warnings: Sequence[str]) -> GroupProcess:
    """`row`: of table `process`."""
    import shlex

    try:
        words = shlex.split(row["command_line"] or "")
    except ValueError:  # an import's own form
        words = (row["command_line"] or "").split()
    peak = max(row["peak_gross_bytes"] or 0, row["before_peak_gross_bytes"] or 0)
    return GroupProcess(
        path,
        row["pid"] or 0,
        row["parent_pid"] or 0,
        row["image_index"] or 0,
        row["program"] or "(unknown)",
        words,
        row["title"] or "",
        bool(row["forked"]),
        bool(row["replaced_by_exec"]),
        row["start_realtime_ns"] or 0,
        row["duration_ns"] or 0,
        row["events"] or 0,
        max(0.0, peak - inherited_bytes),
        inherited_bytes,
        program_rss_bytes(row),
        warnings,
    )


def roles_of(processes: Sequence[GroupProcess]) -> list[Role]:
    """Of each process. A process that another one left behind by exec has the role `until exec`."""
    images: dict[int, list[GroupProcess]] = {}
    for process in sorted(processes, key=lambda each: each.start_ns):
        images.setdefault(process.pid, []).append(process)
    return [Role(name_of(process), _origin(process, images)) for process in processes]


def name_of(process: GroupProcess) -> str:
    """`postgres: checkpointer`, `python3.11 train.py`, `cc1`. Numbers in titles are left out: those of clients and ports."""
    if process.title:
        return _NUMBER.sub("N", process.title)
    if _INTERPRETERS.fullmatch(process.program):
        script = next((word for word in process.words[1:2] if not word.startswith("-")), "")
        return f"{process.program} {script.rpartition('/')[2]}".rstrip()
    called = process.words[0].rpartition("/")[2].lstrip("-") if process.words else ""
    return process.program if not called or process.program.startswith(called) else f"{called} = {process.program}"


def _origin(process: GroupProcess, images: Mapping[int, list[GroupProcess]]) -> str:
    until = ", until exec" if process.was_replaced else ""
    if process.image > 0 and not process.is_forked:
        before = [each for each in images[process.pid] if each.image == process.image - 1]
        if before:
            return f"started by {before[-1].program}{until}"
    earlier = [each for each in images.get(process.parent_pid, []) if each.start_ns <= process.start_ns]
    if not earlier:
        return ("forked" if process.is_forked else "first process") + until
    return f"{'forked' if process.is_forked else 'started'} by {earlier[-1].program}{until}"
