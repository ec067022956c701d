"""heaptrack's files. Lines begin with a letter; numbers are hexadecimal.

Interpreted files have strings (s), addresses with names (i), stacks (t) and pairs of size and stack (a), to which allocations (+) and
frees (-) refer. Raw files have modules (m), stacks of addresses (t), and allocations and frees with pointers. Both have the time in ms
every 10 ms (c) and the RSS in pages (R).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.imports.address_ranges import AddressRanges
from tare.imports.source_file import NONSENSE, TOO_MANY, Damaged
from tare.imports.target import NO_MODULE, UNKNOWN_API, About
from tare.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.imports.source_file import SourceFile
    from tare.imports.target import Frame, Target

_NEWEST = 3
_MISSING = ["usable", "entry-points", "reallocs"]
_MS = 1_000_000
_LONGEST_COMMAND = 1 << 20


def matches(head: bytes) -> bool:
    words = head.partition(b"\n")[0].split(b" ")
    return words[0] == b"v" and 2 <= len(words) <= 3 and all(_is_hex(word) for word in words[1:])


def _is_hex(word: bytes) -> bool:
    return 0 < len(word) <= 16 and all(byte in b"0123456789abcdefABCDEF" for byte in word)


def read(source: SourceFile, target: Target) -> None:
    lines = source.lines()
    first = next(lines, b"")
    if not matches(first):
        raise Damaged("its first line isn't heaptrack's version")
    version, file_version = (int(word, 16) for word in [*first.split(b" ")[1:], b"0"][:2])
    if not 1 <= file_version <= _NEWEST:
        raise Damaged(
            f"version {file_version} of heaptrack's format isn't supported: interpret it with heaptrack first"
        )
    name = f"heaptrack {version >> 16}.{version >> 8 & 255}.{version & 255}"
    reader = _Reader(target, name, file_version, source.most_entries)
    number = 1
    try:
        with Progress("importing heaptrack's events") as progress:
            for number, line in enumerate(lines, 2):
                reader.line(line)
                if not number & 0x3FFFF:
                    progress.update(-1, f"{target.events:,} events")
        reader.finish(complete=not source.cut_off)
    except NONSENSE:
        raise Damaged(f"line {number} is invalid") from None


class _Reader:
    def __init__(self, target: Target, name: str, version: int, most_entries: int) -> None:
        self._target = target
        self._name = name
        self._version = version
        self._entries_left = self._most_live = most_entries
        self._strings = [""]
        self._rows = [0]  # by number of an address, interpreted; unused 0
        self._mapped = AddressRanges()  # raw: of modules
        self._row_of: dict[int, int] = {}  # raw: by address, since the modules changed last
        self._stacks = [0]
        self._shapes: list[int] = []
        self._shape_of: dict[tuple[int, int], int] = {}  # raw: by size and stack
        self._live: set[int] = set()  # raw
        self._now = 0
        self._page_bytes = 4096
        self._rss_pages = 0
        self._command: list[str] = []
        self._in_command: list[str] = []  # lines of the command, while they come
        self._command_length = 0
        self._exe = ""
        self._is_raw: bool | None = None
        self._handlers: dict[int, Callable[[bytes], None]] = {
            ord("s"): self._string, ord("i"): self._address, ord("a"): self._pair,
            ord("c"): self._time, ord("R"): self._rss, ord("I"): self._system, ord("X"): self._debuggee,
            ord("x"): self._executable, ord("m"): self._module, ord("t"): self._trace,
            ord("+"): self._allocate, ord("-"): self._free, ord("A"): self._attached,
        }  # fmt: skip

    def line(self, line: bytes) -> None:
        if self._in_command:
            self._continue_command(line)
            return
        if not line or line[0] in b"#S":  # comments; suppressions
            return
        self._handlers[line[0]](line[2:])

    def _opened(self, *, raw: bool) -> None:
        """The kind of file is known at the first line that only one of both has."""
        if self._is_raw is raw:
            return
        if self._is_raw is not None:
            raise ValueError
        self._is_raw = raw
        missing = _MISSING if raw else [*_MISSING, "pairs"]
        exe = self._exe or (self._command[0] if self._command else "")
        self._target.open(About(self._name, missing, exe=exe, command=self._command))

    def _sized(self, text: bytes) -> tuple[str, bytes]:
        """A string of version 3, which has its length before it; and the rest."""
        if self._version < _NEWEST:
            word, _, rest = text.partition(b" ")
            return word.decode(errors="replace"), rest
        length, _, rest = text.partition(b" ")
        size = int(length, 16)
        if size > len(rest):
            raise ValueError
        return rest[:size].decode(errors="replace"), rest[size + 1 :]

    def _count_entry(self) -> None:
        """Of what stays in memory: frees take nothing back."""
        self._entries_left -= 1
        if self._entries_left < 0:
            raise Damaged(TOO_MANY)

    def _string(self, text: bytes) -> None:
        self._count_entry()
        self._strings.append(self._sized(text)[0] if self._version >= _NEWEST else text.decode(errors="replace"))

    def _address(self, text: bytes) -> None:
        self._opened(raw=False)
        self._count_entry()
        address, module, *rest = (int(word, 16) for word in text.split())
        frames: list[Frame] = []
        for at in range(0, len(rest) - len(rest) % 3, 3):
            function, file, line = rest[at : at + 3]
            frames.append((self._text(function), self._text(file), line if line < 1 << 31 else 0))
        if len(rest) % 3 == 1:
            frames.append((self._text(rest[-1]), "", 0))
        elif len(rest) % 3 == 2:
            frames.append((self._text(rest[-2]), self._text(rest[-1]), 0))
        self._rows.append(
            self._target.row(self._target.file_named(self._text(module)), address, frames or [("", "", 0)])
        )

    def _text(self, number: int) -> str:
        return self._strings[number]

    def _trace(self, text: bytes) -> None:
        self._count_entry()
        first, parent = (int(word, 16) for word in text.split())
        if self._is_raw:
            row = self._raw_row(first)
        else:
            self._opened(raw=False)
            row = self._rows[first] if first else -1
        caller = self._stacks[parent]
        self._stacks.append(self._target.core.stack(caller, row) if row >= 0 else caller)

    def _raw_row(self, address: int) -> int:
        row = self._row_of.get(address)
        if row is None:
            module = self._mapped.of_return_address(address, NO_MODULE)
            row = self._row_of[address] = self._target.row(module, address)
        return row

    def _pair(self, text: bytes) -> None:
        self._opened(raw=False)
        self._count_entry()
        size, stack = (int(word, 16) for word in text.split())
        self._shapes.append(self._shape(size, stack))

    def _shape(self, size: int, stack: int) -> int:
        return self._target.core.shape(self._stacks[stack], UNKNOWN_API, 0, size, size, 1.0)

    def _allocate(self, text: bytes) -> None:
        target = self._target
        target.events += 1
        if not self._is_raw:
            target.core.begin_some_block(self._now, 0, self._shapes[int(text, 16)])
            return
        size, stack, address = (int(word, 16) for word in text.split())
        shape = self._shape_of.get((size, stack))
        if shape is None:
            self._count_entry()
            shape = self._shape_of[size, stack] = self._shape(size, stack)
        if address in self._live:  # its free was missed
            target.core.end_block(self._now, 0, address)
        self._live.add(address)
        if len(self._live) > self._most_live:
            raise Damaged(TOO_MANY)
        target.core.begin_block(self._now, 0, address, shape)

    def _free(self, text: bytes) -> None:
        target = self._target
        if not self._is_raw:
            target.core.end_some_block(self._now, 0, self._shapes[int(text, 16)])
        else:
            address = int(text, 16)
            if address not in self._live:  # of a block older than the file: heaptrack leaves it out, too
                return
            self._live.remove(address)
            target.core.end_block(self._now, 0, address)
        target.events += 1

    def _time(self, text: bytes) -> None:
        self._now = max(self._now, int(text, 16) * _MS)

    def _rss(self, text: bytes) -> None:
        self._rss_pages = max(self._rss_pages, int(text, 16))

    def _system(self, text: bytes) -> None:
        self._page_bytes = int(text.split()[0], 16)

    def _debuggee(self, text: bytes) -> None:
        self._in_command = [text.decode(errors="replace")]
        self._command_length = len(text)

    def _end_command(self) -> None:
        first, *more = self._in_command
        self._command = first.split(" ")
        self._command[-1] = "\n".join([self._command[-1], *more])
        self._in_command = []

    def _continue_command(self, line: bytes) -> None:
        """Arguments may have line ends, which heaptrack writes as they are. The system's line follows the command."""
        words = line.split(b" ")
        if words[0] == b"I" and len(words) == 3 and all(map(_is_hex, words[1:])):
            self._end_command()
            self._system(line[2:])
            return
        self._in_command.append(line.decode(errors="replace"))
        self._command_length += len(line) + 1
        if self._command_length > _LONGEST_COMMAND:
            raise ValueError

    def _executable(self, text: bytes) -> None:
        self._exe = self._sized(text)[0]

    def _attached(self, _: bytes) -> None:
        self._target.warnings.append("heaptrack was attached to a running program: older blocks aren't in the figures")

    def _module(self, text: bytes) -> None:
        self._opened(raw=True)
        self._row_of = {}
        if text.strip() in (b"-", b"1 -"):
            self._mapped.clear()
            return
        path, rest = self._sized(text)
        numbers = [int(word, 16) for word in rest.split()]
        start, segments = numbers[0], numbers[1:]
        path = self._exe if path == "x" else path
        ends = [segments[at] + segments[at + 1] for at in range(0, len(segments) - 1, 2)]
        module = self._target.core.add_module(path, start, start, start + max(ends, default=0), b"")
        for at in range(0, len(segments) - 1, 2):
            self._mapped.add(start + segments[at], start + segments[at] + segments[at + 1], module)

    def finish(self, *, complete: bool) -> None:
        if self._in_command:
            self._end_command()
        if self._is_raw is None:
            self._opened(raw=False)
        if not complete:
            self._target.warnings.append("the file is cut off, as after a crash: events up to there are imported")
        self._target.core.finish(self._now, complete, min(self._rss_pages * self._page_bytes, (1 << 63) - 1))
