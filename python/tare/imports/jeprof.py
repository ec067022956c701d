"""Heap profiles of jemalloc (`heap_v2/524288`) and of gperftools' tcmalloc (`heap profile: ...`).

Each stack has blocks and bytes in use, and in brackets those allocated over the run (jemalloc: with prof_accum). Sums of samples are scaled as
jeprof and pprof do it: a block of s bytes is in a sample of mean distance d with the probability 1 - exp(-s/d).
"""

from __future__ import annotations

import itertools
import math
import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from tare.imports import sums
from tare.imports.address_ranges import AddressRanges
from tare.imports.source_file import NONSENSE, Damaged
from tare.imports.sums import StackSums, Sum
from tare.imports.target import NO_MODULE, About

if TYPE_CHECKING:
    from tare.imports.source_file import SourceFile
    from tare.imports.target import Target

_COUNTS = rb"\s*(\d{1,18}):\s*(\d{1,18})\s*\[\s*(\d{1,18}):\s*(\d{1,18})\]"
_JEMALLOC_HEAD = re.compile(rb"heap_v2/(\d{1,18})")
_JEMALLOC_SUM = re.compile(rb"\s*t\*:" + _COUNTS)
_TCMALLOC_HEAD = re.compile(rb"heap profile:" + _COUNTS + rb"\s*@\s*(?:heapprofile|heap_v2/(\d{1,18})|heap/(\d{1,18}))")
_TCMALLOC_STACK = re.compile(_COUNTS + rb"\s*@((?:\s+0x[0-9a-fA-F]{1,16})*)\s*")
_MAP = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) (....) ([0-9a-f]{1,16}) \S+ \d+\s*(.*)")
_MAPS = b"MAPPED_LIBRARIES:"
_MOST_FRAMES = 1000
_OWN_FILES = ("libjemalloc", "libtcmalloc")


class _Allocator(NamedTuple):
    missing: str  # which of both sizes
    code: int  # as in FORMAT.md


_ALLOCATORS = {"jemalloc": _Allocator("requested", 2), "gperftools": _Allocator("usable", 4)}


def matches(head: bytes) -> bool:
    return _JEMALLOC_HEAD.match(head) is not None or _TCMALLOC_HEAD.match(head) is not None


def read(source: SourceFile, target: Target) -> None:
    reader = _Reader(target)
    number = 1
    try:
        for number, line in enumerate(source.lines(), 1):  # noqa: B007 (the message has it)
            reader.line(line)
        reader.finish()
    except NONSENSE:
        raise Damaged(f"line {number} is invalid") from None


class _Reader:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._period = 0  # 0: every block
        self._name = ""
        self._found: list[tuple[list[int], Sum, Sum]] = []  # addresses from the leaf, in use, in all
        self._addresses: list[int] | None = None  # jemalloc's stack, followed by its sums
        self._maps: list[tuple[int, int, int, bytes]] = []
        self._in_maps = False

    def line(self, line: bytes) -> None:
        if self._in_maps:
            if found := _MAP.fullmatch(line):
                start, end, _, offset, path = found.groups()
                self._maps.append((int(start, 16), int(end, 16), int(offset, 16), path))
        elif line.startswith(_MAPS):
            self._in_maps = True
        elif not self._name:
            self._head(line)
        elif self._name == "jemalloc":
            self._jemalloc(line)
        elif found := _TCMALLOC_STACK.fullmatch(line):
            *counts, addresses = found.groups()
            self._add([int(each, 16) for each in addresses.split()], [int(each) for each in counts])
        elif line.strip():
            raise ValueError

    def _head(self, line: bytes) -> None:
        if found := _JEMALLOC_HEAD.fullmatch(line.strip()):
            self._name, self._period = "jemalloc", int(found[1])
        elif found := _TCMALLOC_HEAD.match(line):
            self._name, self._period = "gperftools", int(found[5] or found[6] or 0)
        else:
            raise ValueError

    def _jemalloc(self, line: bytes) -> None:
        if line.startswith(b"@"):
            self._addresses = [int(each, 16) for each in line[1:].split()]
        elif found := _JEMALLOC_SUM.match(line):
            if self._addresses is not None:  # else of the whole process
                self._add(self._addresses, [int(each) for each in found.groups()])
                self._addresses = None
        elif line.strip() and not line.lstrip().startswith(b"t"):
            raise ValueError

    def _add(self, addresses: list[int], counts: list[int]) -> None:
        if len(addresses) > _MOST_FRAMES:
            raise ValueError
        now, whole = self._scaled(Sum(counts[0], counts[1])), self._scaled(Sum(counts[2], counts[3]))
        self._found.append((addresses, now, Sum(max(now.blocks, whole.blocks), max(now.bytes, whole.bytes))))

    def _scaled(self, one: Sum) -> Sum:
        if self._period <= 1 or not one.blocks or not one.bytes:
            return one if one.blocks else Sum(0, 0)
        scale = 1 / -math.expm1(-one.bytes / one.blocks / self._period)
        return Sum(round(one.blocks * scale), round(one.bytes * scale))

    def finish(self) -> None:
        if not self._name:
            raise Damaged("it is empty")
        allocator = _ALLOCATORS[self._name]
        missing = [allocator.missing, "entry-points", "order", "peak"]
        if all(now == whole for _, now, whole in self._found):
            missing.append("totals")
        sampled = f", sampled every {self._period:,} bytes and scaled" if self._period > 1 else ""
        executable = next((path.decode(errors="replace") for _, _, _, path in self._maps if path.startswith(b"/")), "")
        name = f"{self._name}'s heap profile{sampled}"
        self._target.open(About(name, missing, exe=executable, aggregated=True, allocator=allocator.code))
        modules = self._modules()
        # Without them every block would come from the allocator's own code, which mostly is stripped.
        own = {number for _, _, number, path in modules if path.rpartition("/")[2].startswith(_OWN_FILES)}
        mapped = AddressRanges()
        for start, end, number, _ in modules:
            mapped.add(start, end, number)
        rows: dict[int, tuple[int, bool]] = {}
        listed = []
        for addresses, now, whole in self._found:
            for address in addresses:
                if address not in rows:
                    module = mapped.of_return_address(address, NO_MODULE)
                    rows[address] = self._target.row(module, address), module in own
            called = [rows[each][0] for each in itertools.dropwhile(lambda each: rows[each][1], addresses)]
            listed.append(StackSums(self._target.stack(called), whole, now, now))
        sums.write(self._target, listed)
        self._target.core.finish(0, True, 0)

    def _modules(self) -> list[tuple[int, int, int, str]]:
        """(start, end, module, path) of each mapped part of a file."""
        parts: dict[bytes, list[tuple[int, int, int]]] = {}
        for start, end, offset, path in self._maps:
            if path.startswith(b"/") and start < end:
                parts.setdefault(path, []).append((start, end, offset))
        listed = []
        for path, ranges in parts.items():
            first, _, offset = min(ranges)
            name = path.decode(errors="surrogateescape")
            bias = 0 if _has_fixed_addresses(name) else max(first - offset, 0)
            module = self._target.core.add_module(name, bias, first, max(end for _, end, _ in ranges), b"")
            listed += [(start, end, module, name) for start, end, _ in ranges]
        return listed


def _has_fixed_addresses(path: str) -> bool:
    """True if the program is linked to fixed addresses (ELF's ET_EXEC)."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait, a device might do anything
            return False
        with open(path, "rb") as file:
            head = file.read(18)
    except (OSError, ValueError):
        return False
    return head[:4] == b"\x7fELF" and head[16:18] == b"\x02\x00"
