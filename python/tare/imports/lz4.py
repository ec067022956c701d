"""Unpacks LZ4 frames, which memray's captures are. Checksums are passed over: the records that come out are checked one by one."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x04\x22\x4d\x18"
_HISTORY = 1 << 16  # bytes before a block that it may repeat
_MOST_BLOCK_BYTES = 4 << 20
_STORED = 1 << 31


def blocks(file: IO[bytes]) -> Iterator[bytes]:
    """The unpacked blocks of all frames. EOFError: the file ends within a frame. ValueError or IndexError: damage."""
    while magic := file.read(4):
        if magic != MAGIC:
            raise ValueError("a frame has another magic number")
        flags, _ = _exactly(file, 2)
        if flags >> 6 != 1:
            raise ValueError("a frame has another version")
        _exactly(file, (8 if flags & 8 else 0) + (4 if flags & 1 else 0) + 1)
        history = b""
        while size := int.from_bytes(_exactly(file, 4), "little"):
            length = size & (_STORED - 1)
            if length > _MOST_BLOCK_BYTES:
                raise ValueError("a block is longer than the format allows")
            packed = _exactly(file, length)
            block = packed if size & _STORED else _unpacked(packed, history)
            if flags & 0x10:
                _exactly(file, 4)
            yield block
            history = (history + block)[-_HISTORY:]
        if flags & 4:
            _exactly(file, 4)


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _unpacked(data: bytes, history: bytes) -> bytes:
    """A block is pairs of literal bytes and of a repetition of earlier ones; the last pair has no repetition."""
    out = bytearray(history)
    most = len(history) + _MOST_BLOCK_BYTES
    at, end = 0, len(data)
    while at < end:
        token = data[at]
        at += 1
        literals, at = _length(data, at, token >> 4)
        if literals > end - at:
            raise ValueError("a block ends within its literals")
        out += data[at : at + literals]
        at += literals
        if at == end:
            break
        distance = data[at] | data[at + 1] << 8
        count, at = _length(data, at + 2, token & 15)
        count += 4
        if not 0 < distance <= len(out) or len(out) + count > most:
            raise ValueError("a block repeats what isn't there")
        piece = out[len(out) - distance :][:count]
        out += piece if distance >= count else (piece * (count // distance + 1))[:count]
    return bytes(out[len(history) :])


def _length(data: bytes, at: int, nibble: int) -> tuple[int, int]:
    if nibble == 15:
        while (byte := data[at]) == 255:
            nibble += 255
            at += 1
        nibble += byte
        at += 1
    return nibble, at
