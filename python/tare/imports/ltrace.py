"""Text with a line for each call, as `ltrace -f -ttt -e malloc+free+calloc+realloc` writes it.

    [pid 4711] 1700000000.123456 app->malloc(100)    = 0x55d0c0
    free(0x55d0c0)                                   = <void>

The process id, the time in seconds and the caller's file are optional. Calls that fail (= 0, = nil) and other lines are passed
over. A call whose result comes on a later line (`<unfinished ...>`, `<... malloc resumed>`) counts at that line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tare.imports import target as entry_points
from tare.imports.source_file import NONSENSE, TOO_MANY, Damaged
from tare.imports.target import NO_MODULE, About
from tare.progress import Progress

if TYPE_CHECKING:
    from tare.imports.source_file import SourceFile
    from tare.imports.target import Target

_APIS = {
    "malloc": entry_points.MALLOC, "calloc": entry_points.CALLOC, "realloc": entry_points.REALLOC,
    "reallocarray": entry_points.REALLOCARRAY, "memalign": entry_points.MEMALIGN, "aligned_alloc": entry_points.ALIGNED_ALLOC,
    "valloc": entry_points.VALLOC, "pvalloc": entry_points.PVALLOC,
}  # fmt: skip
_NAMES = "|".join(sorted([*_APIS, "free", "cfree"], key=len, reverse=True))
_NUMBER = r"(?:0x[0-9a-fA-F]{1,16}|\d{1,19}|nil|NULL|\(nil\))"
_START = r"\s*(?:\[pid (?P<pid>\d{1,9})\]\s+|(?P<bare_pid>\d{1,9})\s+(?=\D|\d+\.))?(?:(?P<time>\d{9,11}\.\d{1,9})\s+)?"
_CALL = re.compile(
    rf"{_START}(?:(?P<file>[^\s()]{{1,4096}})->)?(?P<name>{_NAMES})\((?P<arguments>{_NUMBER}?(?:,\s*{_NUMBER})*)\s*"
    rf"(?:\)\s*=\s*(?P<result>{_NUMBER}|<void>)?.*|(?P<unfinished><unfinished \.\.\.>))"
)
_RESUMED = re.compile(rf"{_START}<\.\.\. (?P<name>{_NAMES}) resumed>\s*\)?\s*=\s*(?P<result>{_NUMBER}|<void>)?.*")
_MOST_THREADS = 60_000


def matches(head: bytes) -> bool:
    lines = head.decode(errors="replace").split("\n")[:50]
    return any(_CALL.fullmatch(line) for line in lines)


def read(source: SourceFile, target: Target) -> None:
    reader = _Reader(target, source.most_entries)
    number = 0
    try:
        with Progress("importing calls") as progress:
            for number, line in enumerate(source.lines(), 1):
                reader.line(line.decode(errors="replace"))
                if not number & 0xFFFF:
                    progress.update(-1, f"{target.events:,} events")
        reader.finish()
    except NONSENSE:
        raise Damaged(f"line {number} is invalid") from None


class _Reader:
    def __init__(self, target: Target, most_entries: int) -> None:
        self._most_entries = most_entries
        self._target = target
        self._has_times: bool | None = None
        self._start = 0.0
        self._now = 0
        self._threads: dict[str, int] = {}
        self._stacks: dict[str, int] = {}
        self._shapes: dict[tuple[str, str, int, int], int] = {}
        self._pending: dict[str, tuple[str, str, list[int]]] = {}  # by pid: file, name, arguments
        self._live: set[int] = set()

    def line(self, line: str) -> None:
        if call := _CALL.fullmatch(line):
            arguments = [_number(each.strip()) for each in call["arguments"].split(",") if each.strip()]
            pid = call["pid"] or call["bare_pid"] or ""
            self._at(call["time"])
            if call["unfinished"]:
                if len(self._pending) > _MOST_THREADS:
                    raise ValueError
                self._pending[pid] = (call["file"] or "", call["name"], arguments)
            else:
                self._call(pid, call["file"] or "", call["name"], arguments, call["result"])
        elif resumed := _RESUMED.fullmatch(line):
            pid = resumed["pid"] or resumed["bare_pid"] or ""
            file, name, arguments = self._pending.pop(pid, ("", "", []))
            self._at(resumed["time"])
            if name == resumed["name"]:
                self._call(pid, file, name, arguments, resumed["result"])

    def _at(self, time: str | None) -> None:
        if self._has_times is None:
            self._has_times = time is not None
            self._start = float(time or 0)
            missing = ["usable"] if self._has_times else ["usable", "times"]
            self._target.open(About("text of calls", missing, start_realtime_ns=int(self._start * 1e9)))
        if self._has_times and time is not None:
            self._now = max(self._now, int((float(time) - self._start) * 1e9))

    def _call(self, pid: str, file: str, name: str, arguments: list[int], result: str | None) -> None:
        thread = self._threads.setdefault(pid, len(self._threads))
        core = self._target.core
        if name in ("free", "cfree"):
            if arguments and arguments[0] in self._live:
                self._live.remove(arguments[0])
                core.end_block(self._now, thread, arguments[0])
                self._target.events += 1
            return
        address = _number(result) if result and result != "<void>" else 0
        old = arguments[0] if name.startswith("realloc") and arguments else 0
        size, align = _size_of(name, arguments)
        if not address:
            if old and size == 0:
                self._call(pid, file, "free", [old], None)
            return
        shape = self._shape(file, name, size, align)
        if address in self._live and address != old:  # its free was missed
            core.end_block(self._now, thread, address)
        if old in self._live:
            self._live.remove(old)
            core.grow_block(self._now, thread, old, address, shape)
        else:
            core.begin_block(self._now, thread, address, shape)
        self._live.add(address)
        if len(self._live) + len(self._shapes) > self._most_entries:
            raise Damaged(TOO_MANY)
        self._target.events += 1

    def _shape(self, file: str, name: str, size: int, align: int) -> int:
        key = (file, name, size, align)
        if key not in self._shapes:
            if file not in self._stacks:
                row = self._target.row(NO_MODULE, len(self._stacks), [(f"caller in {file}" if file else "", file, 0)])
                self._stacks[file] = self._target.stack([row])
            self._shapes[key] = self._target.core.shape(self._stacks[file], _APIS[name], align, size, size, 1.0)
        return self._shapes[key]

    def finish(self) -> None:
        if self._has_times is None:
            raise Damaged("no line is a call of malloc, calloc, realloc or free")
        self._target.core.finish(self._now, True, 0)


def _number(text: str) -> int:
    if text in ("nil", "NULL", "(nil)"):
        return 0
    return int(text, 16 if text.startswith("0x") else 10)


def _size_of(name: str, arguments: list[int]) -> tuple[int, int]:
    """Requested bytes, and the alignment."""
    wanted = {"malloc": 1, "valloc": 1, "pvalloc": 1, "reallocarray": 3}.get(name, 2)
    if len(arguments) != wanted:
        raise ValueError
    if name == "calloc":
        return arguments[0] * arguments[1], 0
    if name == "reallocarray":
        return arguments[1] * arguments[2], 0
    if name in ("memalign", "aligned_alloc"):
        return arguments[1], arguments[0]
    return arguments[-1], 0
