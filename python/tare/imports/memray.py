"""memray's captures of all allocations (not --aggregate), header version 13 (memray 1.20).

A stream of records, each a byte with its type and flags. Threads push and pop Python frames; an allocation comes from the frames of the thread that the last
switch named. In native captures it also refers to a native stack, which stands for the allocation only if no Python frame does.
The main thread's frames of memray's own command, of which the head has the number, are left out, as memray does.
Addresses, native frames and lines are differences from the record before. Mappings by mmap count as blocks, as memray counts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.imports import target as entry_points
from tare.imports.address_ranges import AddressRanges
from tare.imports.line_table import line_of
from tare.imports.source_file import NONSENSE, TOO_MANY, Damaged
from tare.imports.target import NO_MODULE, UNKNOWN_API, About
from tare.progress import Progress

if TYPE_CHECKING:
    from tare.imports.source_file import SourceFile
    from tare.imports.target import Target

_MAGIC = b"memray\0"
_VERSION = 13
_TRAILER, _MEMORY, _NATIVE, _MAP_START, _SEGMENTS, _SEGMENT, _THREAD, _SWITCH, _CODE = 1, 2, 5, 6, 7, 8, 10, 12, 14
_PYMALLOC_FREE, _FREE, _MMAP, _MUNMAP, _LAST_ALLOCATOR = 1, 5, 14, 15, 15
_APIS = {
    6: entry_points.MALLOC, 7: entry_points.REALLOC, 8: entry_points.CALLOC, 9: entry_points.POSIX_MEMALIGN,
    10: entry_points.ALIGNED_ALLOC, 11: entry_points.MEMALIGN, 12: entry_points.VALLOC, 13: entry_points.PVALLOC,
}  # fmt: skip
_MS = 1_000_000
_WORD = 0xFFFFFFFFFFFFFFFF
_ADDRESS = 0xFFFFFFFFFFFF
_LONGEST_TEXT = 1 << 20
_LONGEST_RECORD = 1 << 12  # of those without texts
_MOST_FRAMES = 1000
_MOST_COMPARISONS = 1 << 22  # 2 s


class _Code(NamedTuple):
    number: int  # an id may be given again
    function: str
    file: str
    first_line: int
    lines: bytes


def matches(head: bytes) -> bool:
    return head.startswith(_MAGIC)


def read(source: SourceFile, target: Target) -> None:
    reader = _Reader(source, target)
    try:
        reader.head()
        with Progress("importing memray's records") as progress:
            while reader.record():
                if not target.events & 0xFFFF:
                    progress.update(-1, f"{target.events:,} events")
    except NONSENSE as error:
        if not reader.is_open:
            raise Damaged("it ends within its head") from None
        if not (isinstance(error, IndexError) and reader.is_at_end):
            raise Damaged(f"byte {reader.place:,} of its records is invalid") from None
    reader.finish()


class _Reader:
    def __init__(self, source: SourceFile, target: Target) -> None:
        self._pieces = source.pieces()
        self._target = target
        self._data = b""
        self._at = 0
        self._before = 0  # bytes dropped
        self.is_open = False
        self.is_at_end = False  # nothing was left to read when a record was cut off
        self._complete = False
        self._recent = [0] * 15
        self._pointer = self._native_id = self._ip = self._line = 0
        self._codes: dict[int, _Code] = {}
        self._code_count = 0
        self._rows: dict[tuple[int, int], int] = {}  # by number of a code object, and instruction
        self._native: list[tuple[int, int]] = []  # address, index of the caller + 1
        self._native_stacks: dict[int, int] = {0: 0}
        self._mapped = AddressRanges()
        self._stacks: dict[int, list[int]] = {}  # by thread's id
        self._thread_numbers: dict[int, int] = {}
        self._stack: list[int] | None = None
        self._thread = self._thread_id = 0
        self._main_thread = self._own_frames = 0  # its outermost frames are those of memray's command
        self._shapes: dict[tuple[int, int, int], int] = {}
        self._live: dict[int, tuple[int, int, int]] = {}  # address -> bytes, stack, entry point
        self._mappings: dict[int, None] = {}  # those of them that mmap made, in order
        self._compared = 0  # of them, with ranges that munmap ended
        self._most_entries = source.most_entries
        self._most_comparisons = _MOST_COMPARISONS + self._most_entries
        self._now = 0
        self._peak_rss = 0

    @property
    def place(self) -> int:
        return self._before + self._at

    def _refill(self, count: int) -> None:
        """So that `count` bytes lie ahead, if the file has them."""
        size = len(self._data) - self._at
        if size >= count:
            return
        pieces = [self._data[self._at :]]
        while size < count:
            piece = next(self._pieces, b"")
            if not piece:
                self.is_at_end = True
                break
            pieces.append(piece)
            size += len(piece)
        self._before += self._at
        self._data = b"".join(pieces)
        self._at = 0

    def _bytes(self, count: int) -> bytes:
        if count > _LONGEST_TEXT:
            raise ValueError("a text is too long")
        self._refill(count)
        if len(self._data) - self._at < count:
            raise IndexError
        self._at += count
        return self._data[self._at - count : self._at]

    def _number(self, count: int) -> int:
        return int.from_bytes(self._bytes(count), "little")

    def _text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            self._refill(_LONGEST_TEXT)
            end = self._data.find(b"\0", self._at)
            if end < 0:
                raise IndexError
        text = self._data[self._at : end]
        self._at = end + 1
        return text.decode(errors="replace")

    def _varint(self) -> int:
        value = shift = 0
        data = self._data
        while True:
            byte = data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _WORD
            shift += 7
            if shift >= 64:
                raise ValueError("a number is too long")

    def _signed(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def head(self) -> None:
        if self._bytes(len(_MAGIC)) != _MAGIC:
            raise Damaged("it isn't a capture of memray")
        version = self._number(4)
        if version != _VERSION:
            raise Damaged(f"version {version} of memray's format isn't supported, only {_VERSION} (memray 1.20)")
        self._python = self._number(4)
        self._has_native, aggregated = self._number(1) != 0, self._number(1) != 0
        if aggregated:
            raise Damaged("captures of memray run --aggregate have no single allocations; record without it")
        self._bytes(16)
        start_ms, end_ms = self._number(8), self._number(8)
        command = self._text().split()
        pid = self._number(4)
        self._main_thread, self._own_frames = self._number(8), self._number(8)
        self._bytes(3)
        self._text()
        for _ in range(2):
            while self._text():
                pass
        self._end = min(max(end_ms - start_ms, 0), 1 << 40) * _MS
        about = About(
            "memray", ["usable", "reallocs"], exe=command[0] if command else "", command=command, pid=pid,
            start_realtime_ns=min(start_ms * _MS, 1 << 62),
        )  # fmt: skip
        self._target.open(about)
        self.is_open = True

    def record(self) -> bool:
        """False: that was the last."""
        if len(self._data) - self._at < _LONGEST_RECORD:
            self._refill(_LONGEST_RECORD)
            if self._at == len(self._data):
                return False
        kind = self._data[self._at]
        self._at += 1
        if kind & 0x80:
            self._allocation(kind)
        elif kind & 0x40:
            self._push()
        elif kind & 0x20:
            self._object(kind)
        elif kind & 0x10:
            stack = self._current()
            count = (kind & 15) + 1
            if count > len(stack):
                raise ValueError("more frames end than began")
            del stack[-count:]
        elif kind == _TRAILER:
            self._complete = True
            return False
        elif kind:
            self._other(kind)
        return True

    def _current(self) -> list[int]:
        if self._stack is None:
            raise ValueError("no thread runs")
        return self._stack

    def _push(self) -> None:
        stack = self._current()
        is_own = self._thread_id == self._main_thread and len(stack) < self._own_frames
        code, instruction = self._codes.get(self._varint()), self._signed()
        key = (code.number if code else -1, instruction)
        row = self._rows.get(key)
        if row is None:
            frame = ("", "", 0)
            if code is not None:
                line = line_of(code.lines, code.first_line, instruction, self._python)
                frame = (code.function, code.file, line if 0 < line < 1 << 31 else 0)
            self._check_entries(len(self._rows))
            row = self._rows[key] = self._target.row(NO_MODULE, len(self._rows) & _ADDRESS, [frame])
        if len(stack) > 100 * _MOST_FRAMES:
            raise ValueError("a stack is too deep")
        stack.append(0 if is_own else self._target.core.stack(stack[-1] if stack else 0, row))

    def _address(self, index: int) -> int:
        if index < 15:
            return self._recent[index]
        self._pointer = self._pointer + self._signed() & _WORD
        address = self._pointer << 3 & _WORD
        self._recent = [address, *self._recent[:14]]
        return address

    def _allocation(self, kind: int) -> None:
        stack = self._current()
        address = self._address(kind >> 3 & 15)
        allocator = kind & 7
        if not allocator:
            allocator = self._data[self._at]
            self._at += 1
        if not 1 <= allocator <= _LAST_ALLOCATOR:
            raise ValueError("an allocator is unknown")
        core = self._target.core
        if allocator in (_FREE, _PYMALLOC_FREE):
            if self._live.pop(address, None) is not None:  # else older than the capture
                self._mappings.pop(address, None)
                core.end_block(self._now, self._thread, address)
                self._target.events += 1
            return
        if self._has_native:
            self._native_id = self._native_id + self._signed() & _WORD
        size = self._varint()
        if allocator == _MUNMAP:
            self._unmap(address, size)
            return
        at = stack[-1] if stack else 0
        if not at and self._has_native:
            at = self._native_stack(self._native_id)
        self._begin(address, size, at, _APIS.get(allocator, UNKNOWN_API))

    def _begin(self, address: int, size: int, stack: int, api: int) -> None:
        if address in self._live:  # its free was missed
            self._target.core.end_block(self._now, self._thread, address)
        shape = self._shapes.get((stack, api, size))
        if shape is None:
            shape = self._shapes[stack, api, size] = self._target.core.shape(stack, api, 0, size, size, 1.0)
        self._target.core.begin_block(self._now, self._thread, address, shape)
        self._live[address] = (size, stack, api)
        if api == UNKNOWN_API:
            self._mappings[address] = None
        else:
            self._mappings.pop(address, None)
        self._check_entries(len(self._live) + len(self._shapes))
        self._target.events += 1

    def _unmap(self, start: int, size: int) -> None:
        """Parts of mappings that stay are blocks of their own then."""
        end = start + size
        exact = self._live.get(start)
        if exact is not None and exact[0] == size:
            found = [(start, exact)]
        else:
            self._compared += len(self._mappings)
            if self._compared > self._most_comparisons:
                raise Damaged("munmap ends parts of mappings too often")
            blocks = ((at, self._live[at]) for at in self._mappings)
            found = [(at, block) for at, block in blocks if at < end and at + block[0] > start]
        for at, block in found:
            length, stack, api = block
            if api != UNKNOWN_API or self._live.get(at) is not block:  # malloc's; or another one by now
                continue
            self._target.core.end_block(self._now, self._thread, at)
            del self._live[at]
            del self._mappings[at]
            self._target.events += 1
            if at < start:
                self._begin(at, start - at, stack, api)
            if at + length > end:
                self._begin(end, at + length - end, stack, api)

    def _check_entries(self, count: int) -> None:
        if count > self._most_entries:
            raise Damaged(TOO_MANY)

    def _object(self, kind: int) -> None:
        self._address(kind >> 1 & 15)
        if self._has_native and kind & 1:
            self._native_id = self._native_id + self._signed() & _WORD

    def _other(self, kind: int) -> None:
        if kind == _MEMORY:
            self._peak_rss = max(self._peak_rss, min(self._varint(), 1 << 62))
            self._now = max(self._now, min(self._varint(), 1 << 40) * _MS)
        elif kind == _SWITCH:
            thread = self._number(8)
            self._stack = self._stacks.setdefault(thread, [])
            self._thread_id = thread
            self._thread = self._thread_numbers.setdefault(thread, len(self._thread_numbers))
        elif kind == _CODE:
            number, function, file = self._varint(), self._text(), self._text()
            self._refill(_LONGEST_RECORD)
            self._line += self._signed()
            lines = self._bytes(self._varint())
            self._code_count += 1
            self._check_entries(self._code_count)
            self._codes[number] = _Code(self._code_count, function, file, self._line, lines)
        elif kind == _NATIVE:
            self._ip = self._ip + self._signed() & _WORD
            self._native_id = self._native_id + self._signed() & _WORD
            self._check_entries(len(self._native))
            self._native.append((self._ip & _ADDRESS, self._native_id))
        elif kind == _THREAD:
            self._text()
        elif kind == _MAP_START:
            self._mapped.clear()
        elif kind == _SEGMENTS:
            self._segments()
        else:
            raise ValueError("a record is of an unknown type")

    def _segments(self) -> None:
        path, count, address = self._text(), self._varint(), self._number(8)
        parts = []
        for _ in range(min(count, 1 << 16)):
            if self._number(1) != _SEGMENT:
                raise ValueError("a file of code has too few parts")
            start = address + self._number(8)
            self._refill(_LONGEST_RECORD)
            parts.append((start & _ADDRESS, start + self._varint() & _ADDRESS))
        if parts:
            last = max(end for _, end in parts)
            module = self._target.core.add_module(path, address & _ADDRESS, parts[0][0], max(last, parts[0][0]), b"")
            for start, end in parts:
                self._mapped.add(start, end, module)

    def _native_stack(self, number: int) -> int:
        """Of native frame `number`, counted from 1; 0: none."""
        chain: list[int] = []
        while number not in self._native_stacks:
            if not 0 < number <= len(self._native) or len(chain) > _MOST_FRAMES:
                break
            chain.append(number)
            number = self._native[number - 1][1]
        stack = self._native_stacks.get(number, 0)
        for each in reversed(chain):
            address = self._native[each - 1][0]
            module = self._mapped.of_return_address(address, NO_MODULE)
            stack = self._native_stacks[each] = self._target.core.stack(stack, self._target.row(module, address))
        return stack

    def finish(self) -> None:
        if not self._complete:
            self._target.warnings.append("the capture has no end, as after a crash: events up to there are imported")
        self._target.core.finish(max(self._end, self._now), self._complete, self._peak_rss)
