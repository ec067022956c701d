"""The wire format of protocol buffers, as far as profiles need it: varints and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_SMALL = [bytes([value]) for value in range(128)]


@lru_cache(maxsize=1 << 14)  # amounts repeat: counts of few blocks, multiples of few sizes
def varint(value: int) -> bytes:
    """Negative numbers take ten bytes, as int64 does."""
    if 0 <= value < 128:
        return _SMALL[value]
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Nothing for 0, the default."""
    return varint(field << 3) + varint(value) if value else b""


def fixed64(field: int, value: int) -> bytes:
    return varint(field << 3 | 1) + value.to_bytes(8, "little")


def data(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def packed(field: int, values: Iterable[int]) -> bytes:
    return data(field, b"".join(map(varint, values)))


class Strings:
    """A table of texts, each with the number of its place; the empty text is the first."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))
