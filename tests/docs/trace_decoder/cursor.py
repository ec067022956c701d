"""Takes numbers, texts and bytes off a payload (FORMAT.md: Conventions)."""

from __future__ import annotations

import ctypes

WORD = 2**64 - 1


class Damage(Exception):
    """A record that contradicts itself: nothing from here on is trusted."""


class Cursor:
    """Takes the values of a payload one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise Damage(f"{count} bytes wanted, {self.left} left")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise Damage("a byte wanted, none left")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value & WORD
            shift += 7
        raise Damage("a varint of more than ten bytes")

    def svarint(self) -> int:
        return unzigzag(self.varint())

    def text(self) -> bytes:
        return self.take(self.varint())

    def distance(self, base: int) -> int:
        """An address as its distance from another."""
        k = self.varint()
        return (base + 16 * unzigzag(k >> 1) + (self.byte() & 15 if k & 1 else 0)) & WORD

    def expect_end(self) -> None:
        if self.left:
            raise Damage(f"{self.left} bytes too many")


def unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def unpack(data: bytes, size: int) -> bytes:
    """The `size` bytes that were packed as `data`, if they were."""
    if len(data) == size:
        return data
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size + 1)
    if zstd.ZSTD_decompress(out, size, data, len(data)) != size:
        raise Damage("a zstd frame of another size than announced")
    return out.raw[:size]


def says_size(frame: bytes, size: int) -> bool:
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_getFrameContentSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return int(zstd.ZSTD_getFrameContentSize(frame, len(frame))) == size
