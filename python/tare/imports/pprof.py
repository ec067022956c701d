"""Heap profiles of pprof: alloc_objects, alloc_space, inuse_objects and inuse_space of each stack.

`inuse` is the use when the profile was taken: it stands for the peak and the end. The recordings that `tare export --to pprof` writes
have it from the peak.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tare.imports import sums
from tare.imports.source_file import NONSENSE, Damaged
from tare.imports.sums import StackSums, Sum
from tare.imports.target import NO_MODULE, About
from tare.imports.wire import fields, numbers, signed

if TYPE_CHECKING:
    from tare.imports.source_file import SourceFile
    from tare.imports.target import Frame, Target

_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRINGS, _TIME_NANOS, _PERIOD = 1, 2, 3, 4, 5, 6, 9, 12
_LAST_FIELD = 15
_FIRST_FIELDS = 10
_MOST_FRAMES = 1000
_ADDRESS = 0xFFFFFFFFFFFF


def matches(head: bytes) -> bool:
    """Among the first fields of a profile is a sample type, a small message."""
    try:
        for number, value in itertools.islice(fields(head), _FIRST_FIELDS):
            if not 1 <= number <= _LAST_FIELD:
                return False
            if number == _SAMPLE_TYPE:
                return isinstance(value, bytes) and len(value) < 20 and value[:1] == b"\x08"
    except NONSENSE:
        pass
    return False


def read(source: SourceFile, target: Target) -> None:
    if source.cut_off:
        raise Damaged("it is cut off")
    try:
        _Reader(source.whole(), target).read()
    except NONSENSE as error:
        raise Damaged(f"it isn't a profile of pprof ({type(error).__name__}: {error})") from None


class _Reader:
    def __init__(self, data: bytes, target: Target) -> None:
        self._target = target
        self._messages: dict[int, list[Any]] = {}
        for number, value in fields(data):
            self._messages.setdefault(number, []).append(value)
        self._strings = [str(text, errors="replace") for text in self._messages.get(_STRINGS, [])]
        self._functions = {one[1]: one for one in map(_scalars, self._messages.get(_FUNCTION, []))}

    def read(self) -> None:
        types = [self._strings[_scalars(each).get(1, 0)] for each in self._messages.get(_SAMPLE_TYPE, [])]
        in_use = [types.index(name) for name in _named(types, "inuse_objects", "inuse_space", "objects", "space")]
        whole = [types.index(name) for name in _named(types, "alloc_objects", "alloc_space")] or in_use
        if not in_use:
            raise Damaged(f"it is no heap profile: its sample types are {', '.join(types) or 'missing'}")
        missing = ["usable", "entry-points", "order", "peak"] + (["totals"] if whole == in_use else [])
        period = (self._messages.get(_PERIOD) or [0])[-1]
        sampled = f", sampled every {period:,} bytes" if period > 1 else ""
        start = (self._messages.get(_TIME_NANOS) or [0])[-1]
        self._modules: dict[int, int] = {}
        mappings = [_scalars(each) for each in self._messages.get(_MAPPING, [])]
        exe = self._strings[mappings[0].get(5, 0)] if mappings else ""
        self._target.open(
            About(f"pprof{sampled}", missing, exe=exe, aggregated=True, start_realtime_ns=max(signed(start), 0))
        )
        for mapping in mappings:
            self._modules[mapping[1]] = self._module(mapping)
        rows = {one[1]: row for one, row in map(self._location, self._messages.get(_LOCATION, []))}
        sums.write(self._target, [self._sums_of(each, rows, in_use, whole) for each in self._messages.get(_SAMPLE, [])])
        self._target.core.finish(0, True, 0)

    def _module(self, mapping: dict[int, int]) -> int:
        start, end, offset = mapping.get(2, 0), mapping.get(3, 0), mapping.get(4, 0)
        build_id = self._strings[mapping.get(6, 0)]
        try:
            identity = bytes.fromhex(build_id)
        except ValueError:  # Go's
            identity = b""
        bias = max(start - offset, 0)
        return self._target.core.add_module(self._strings[mapping.get(5, 0)], bias, start, max(start, end), identity)

    def _location(self, data: bytes) -> tuple[dict[int, int], int]:
        one = _scalars(data)
        frames: list[Frame] = []
        for number, value in fields(data):
            if number == 4 and isinstance(value, bytes):
                line = _scalars(value)
                function = self._functions[line[1]]
                at = signed(line.get(2, 0))
                frames.append(
                    (
                        self._strings[function.get(2, 0)],
                        self._strings[function.get(4, 0)],
                        at if 0 <= at < 1 << 31 else 0,
                    )
                )
        module = self._modules.get(one.get(2, 0), NO_MODULE)
        return one, self._target.row(module, one.get(3, 0) & _ADDRESS, frames)

    def _sums_of(self, data: bytes, rows: dict[int, int], in_use: list[int], whole: list[int]) -> StackSums:
        locations: list[int] = []
        values: list[int] = []
        for number, value in fields(data):
            if number == 1:
                locations += numbers(value)
            elif number == 2:
                values += map(signed, numbers(value))
        if len(locations) > _MOST_FRAMES:
            raise ValueError("a stack has more than 1,000 locations")
        stack = self._target.stack([rows[each] for each in locations])
        now = Sum(values[in_use[0]], values[in_use[1]])
        # A sampling profiler rounds both on their own, so that more may be in use than was allocated.
        total = Sum(max(values[whole[0]], now.blocks), max(values[whole[1]], now.bytes))
        return StackSums(stack, _possible(total), _possible(now), _possible(now))


def _possible(one: Sum) -> Sum:
    """Bytes of no block, as scaled samples may have them, are of one."""
    return Sum(1, one.bytes) if one.blocks == 0 and one.bytes > 0 else one


def _named(types: list[str], *names: str) -> list[str]:
    """The first two of the names that are there as a pair."""
    for blocks, size in zip(names[::2], names[1::2], strict=True):
        if blocks in types and size in types:
            return [blocks, size]
    return []


def _scalars(data: bytes) -> dict[int, int]:
    return {number: value for number, value in fields(data) if isinstance(value, int)}
