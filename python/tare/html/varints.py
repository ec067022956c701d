"""Numbers as bytes of seven bits, the lowest first: the form of all numbers in the embedded store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def put(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def put_column(out: bytearray, values: Sequence[int]) -> None:
    if max(values, default=0) < 0x80:  # at the speed of C
        out += bytes(values)
        return
    append = out.append
    for value in values:
        while value > 0x7F:
            append(value & 0x7F | 0x80)
            value >>= 7
        append(value)
