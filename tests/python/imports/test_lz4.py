"""LZ4 frames: literals, repetitions near and far, and what can't be."""

from __future__ import annotations

import io

import pytest
from tare.imports.lz4 import blocks

HEAD = b"\x04\x22\x4d\x18\x40\x40\xc0"


def frame(*packed: bytes) -> io.BytesIO:
    return io.BytesIO(HEAD + b"".join(len(each).to_bytes(4, "little") + each for each in packed) + bytes(4))


def test_repetitions_overlap_and_reach_into_the_block_before() -> None:
    first = (
        bytes([0x30]) + b"abc" + (3).to_bytes(2, "little") + bytes([0x10]) + b"!"
    )  # 3 literals, 4 of distance 3; 1 literal
    second = bytes([0x04]) + (8).to_bytes(2, "little") + bytes([0x10]) + b"?"  # 8 of distance 8
    assert list(blocks(frame(first, second))) == [b"abcabca!", b"abcabca!?"]


def test_long_lengths() -> None:
    literals = bytes(range(256)) * 2
    packed = bytes([0xFF, 255, 512 - 15 - 255]) + literals + (1).to_bytes(2, "little") + bytes([255, 100, 0x00])
    (block,) = blocks(frame(packed))
    assert block == literals + b"\xff" * (15 + 255 + 100 + 4)


@pytest.mark.parametrize(
    "packed",
    [
        b"\x20a",
        b"\x10a\x02\x00",
        b"\x10a\x00\x00",
        b"\x10a\x01",
        b"\xf0",
        b"\x1fa\x01\x00" + b"\xff" * 20_000 + b"\x00",
    ],
)
def test_damage(packed: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        list(blocks(frame(packed)))


def test_a_cut_off_frame() -> None:
    whole = frame(b"\x10a").getvalue()
    for size in range(5, len(whole)):
        with pytest.raises(EOFError):
            list(blocks(io.BytesIO(whole[:size])))
