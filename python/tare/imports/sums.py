"""Sums of stacks as events: blocks that weigh as much as there were.

A profile has sums over the run, at the peak and at the end for each stack. The recording first allocates and frees the blocks that lived
at neither, in portions smaller than the peak, then allocates those of the peak, frees those that didn't live to the end, and allocates the
rest. So the sums of a recording at these three times are those of the profile, to the byte; the order within is made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.imports.source_file import Damaged
from tare.imports.target import UNKNOWN_API

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tare.imports.target import Target

_MOST_BLOCKS = 1 << 50
_MOST_PORTIONS = 1 << 20  # in all: a second


class Sum(NamedTuple):
    blocks: int
    bytes: int

    def minus(self, other: Sum) -> Sum:
        return Sum(self.blocks - other.blocks, self.bytes - other.bytes)

    @property
    def is_possible(self) -> bool:
        return 0 <= self.blocks <= _MOST_BLOCKS and 0 <= self.bytes < 1 << 62 and (self.blocks > 0 or self.bytes == 0)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(size, blocks) of at most two sizes with this sum."""
        if not self.blocks:
            return []
        size, larger = divmod(self.bytes, self.blocks)
        return [(each, count) for each, count in ((size, self.blocks - larger), (size + 1, larger)) if count]


class StackSums(NamedTuple):
    """`api`: an entry point of tare.imports.target."""

    stack: int
    total: Sum
    peak: Sum
    end: Sum
    api: int = UNKNOWN_API


def kept(sums: StackSums) -> Sum:
    """Blocks that lived at the peak and at the end; such that no other sum is negative."""
    total, peak, end = sums.total, sums.peak, sums.end
    most = min(peak.blocks, end.blocks)
    least = max(0, peak.blocks + end.blocks - total.blocks)
    for blocks in dict.fromkeys((most, max(most - 1, 0), least, 0)):
        least_bytes = max(0, peak.bytes + end.bytes - total.bytes)
        most_bytes = min(peak.bytes, end.bytes) if blocks else 0
        for size in dict.fromkeys((most_bytes, least_bytes)):
            both = Sum(blocks, size)
            if all(each.is_possible for each in (both, peak.minus(both), end.minus(both), _short_lived(sums, both))):
                return both
    raise Damaged(f"sums of a stack contradict each other: {total} in all, {peak} at the peak, {end} at the end")


def _short_lived(sums: StackSums, both: Sum) -> Sum:
    return sums.total.minus(sums.peak).minus(sums.end.minus(both))


def write(target: Target, stacks: Iterable[StackSums]) -> None:
    """All events; the target is open."""
    listed = [(sums, kept(sums)) for sums in stacks]
    peak_bytes = sum(sums.peak.bytes for sums, _ in listed)
    briefly = sum(_short_lived(sums, both).bytes for sums, both in listed)
    most_bytes = max(peak_bytes - 1, 1)
    if peak_bytes and briefly // most_bytes > _MOST_PORTIONS:
        most_bytes = briefly // _MOST_PORTIONS
        text = "blocks that lived briefly are more than a million times the peak: the peak shown here is too high"
        target.warnings.append(text)
    for sums, both in listed:
        for size, count in _short_lived(sums, both).sizes:
            _pass(target, sums, size, count, most_bytes if peak_bytes else 0)
    for sums, both in listed:
        _each(target, _begin, sums, both.sizes)
        _each(target, _begin, sums, sums.peak.minus(both).sizes)
    for sums, both in listed:
        _each(target, _end, sums, sums.peak.minus(both).sizes)
    for sums, both in listed:
        _each(target, _begin, sums, sums.end.minus(both).sizes)


def _pass(target: Target, sums: StackSums, size: int, count: int, most_bytes: int) -> None:
    """Blocks that are allocated and freed, at most `most_bytes` at a time; 0: all at once."""
    most = max(most_bytes // size, 1) if size and most_bytes else count
    whole, rest = divmod(count, most)
    for portion, times in ((most, whole), (rest, 1 if rest else 0)):
        if times:
            shape = _shape(target, sums, size, portion)
            for _ in range(times):
                target.core.begin_some_block(0, 0, shape)
                target.core.end_some_block(0, 0, shape)
            target.events += times


def _each(target: Target, put: _Put, sums: StackSums, sizes: Sequence[tuple[int, int]]) -> None:
    for size, count in sizes:
        put(target, sums, size, count)


def _shape(target: Target, sums: StackSums, size: int, count: int) -> int:
    return target.core.shape(sums.stack, sums.api, 0, size, size, float(count))


def _begin(target: Target, sums: StackSums, size: int, count: int) -> None:
    target.core.begin_some_block(0, 0, _shape(target, sums, size, count))
    target.events += 1


def _end(target: Target, sums: StackSums, size: int, count: int) -> None:
    target.core.end_some_block(0, 0, _shape(target, sums, size, count))


if TYPE_CHECKING:
    from collections.abc import Callable

    _Put = Callable[[Target, StackSums, int, int], None]
