"""Mapped parts of files of code, to find the one of an address."""

from __future__ import annotations

from bisect import bisect_right, insort


class AddressRanges:
    """Of ranges that overlap, the one with the greatest start counts. Each step takes the logarithm of their number."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: dict[int, tuple[int, int]] = {}  # by start: end, number

    def add(self, start: int, end: int, number: int) -> None:
        if start not in self._ranges:
            insort(self._starts, start)
        self._ranges[start] = (end, number)

    def clear(self) -> None:
        self._starts.clear()
        self._ranges.clear()

    def of_return_address(self, address: int, otherwise: int) -> int:
        """The number of the range that has the call before `address`."""
        at = bisect_right(self._starts, address - 1)
        if at == 0:
            return otherwise
        end, number = self._ranges[self._starts[at - 1]]
        return number if address - 1 < end else otherwise
