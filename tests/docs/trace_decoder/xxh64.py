"""XXH64, after its public specification."""

from __future__ import annotations

import struct

from trace_decoder.cursor import WORD


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 as its specification has it."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

    def rotate(x: int, by: int) -> int:
        return (x << by | x >> 64 - by) & WORD

    def round_of(lane: int, value: int) -> int:
        return rotate((lane + value * p2) & WORD, 31) * p1 & WORD

    whole = len(data) // 32 * 32
    if whole:
        a, b, c, d = (seed + p1 + p2) & WORD, (seed + p2) & WORD, seed, (seed - p1) & WORD
        for w, x, y, z in struct.iter_unpack("<4Q", data[:whole]):
            a, b, c, d = round_of(a, w), round_of(b, x), round_of(c, y), round_of(d, z)
        h = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) & WORD
        for lane in (a, b, c, d):
            h = ((h ^ round_of(0, lane)) * p1 + p4) & WORD
    else:
        h = (seed + p5) & WORD
    h = (h + len(data)) & WORD
    at = whole
    while at + 8 <= len(data):
        h = (rotate(h ^ round_of(0, int.from_bytes(data[at : at + 8], "little")), 27) * p1 + p4) & WORD
        at += 8
    if at + 4 <= len(data):
        h = (rotate(h ^ int.from_bytes(data[at : at + 4], "little") * p1 & WORD, 23) * p2 + p3) & WORD
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & WORD, 11) * p1 & WORD
    h = (h ^ h >> 33) * p2 & WORD
    h = (h ^ h >> 29) * p3 & WORD
    return h ^ h >> 32
