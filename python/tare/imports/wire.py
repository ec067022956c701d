"""Reads the wire format of protocol buffers: fields of a message, with every length checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIZES = {1: 8, 5: 4}


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The value, and the place behind it. ValueError: it doesn't end in time."""
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ValueError("a varint has more than ten bytes")


def signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value); a value is a varint or bytes. Fixed-width ones are passed over."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif kind == 2:
            size, at = varint(data, at)
            if size > end - at:
                raise ValueError("a field is longer than its message")
            yield key >> 3, data[at : at + size]
            at += size
        elif kind in _SIZES:
            at += _SIZES[kind]
        else:
            raise ValueError("a field has an unknown kind")
    if at > end:
        raise ValueError("a field is longer than its message")


def numbers(value: int | bytes) -> list[int]:
    """Of a repeated field, packed or not."""
    if isinstance(value, int):
        return [value]
    listed, at = [], 0
    while at < len(value):
        each, at = varint(value, at)
        listed.append(each)
    return listed
