"""Files like another, with one record more or in the place of one."""

from __future__ import annotations

from trace_decoder.records import CLOCK
from trace_decoder.xxh64 import xxh64


def record(kind: int, flags: int, payload: bytes) -> bytes:
    head = kind.to_bytes(2, "little") + flags.to_bytes(2, "little") + len(payload).to_bytes(4, "little")
    return head + xxh64(payload, int.from_bytes(head, "little")).to_bytes(8, "little") + payload


def records(data: bytes) -> list[tuple[int, int, int]]:
    """Of each record its type, and where it begins and ends."""
    found, at = [], 16
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 4 : at + 8], "little")
        found.append((int.from_bytes(data[at : at + 2], "little"), at, end))
        at = end
    return found


def varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + varint(value >> 7) if value >= 128 else bytes([value])


def with_clock(data: bytes, pairs: list[tuple[int, int]]) -> bytes:
    """The same with other pairs, each later than the one before, in place of its clock."""
    payload = varint(len(pairs))
    stamp = ns = 0
    for later_stamp, later_ns in pairs:
        payload += varint(2 * (later_stamp - stamp)) + varint(2 * (later_ns - ns))  # svarints of positive differences
        stamp, ns = later_stamp, later_ns
    _, at, end = next(found for found in records(data) if found[0] == CLOCK)
    return data[:at] + record(CLOCK, 0, payload) + data[end:]
