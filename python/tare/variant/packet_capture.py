"""Reads packet captures of D-Bus, as `dbus-monitor --pcap` writes them: a message a packet.

The format is libpcap's (draft-ietf-opsawg-pcap): a header of 24 bytes, then packets, each behind 16 bytes with its stored and
its original length, all in the writer's byte order. Packets of link type 231 are D-Bus messages.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator

_ORDERS = {
    b"\xd4\xc3\xb2\xa1": "<",  # stamps of microseconds
    b"\xa1\xb2\xc3\xd4": ">",
    b"\x4d\x3c\xb2\xa1": "<",  # of nanoseconds
    b"\xa1\xb2\x3c\x4d": ">",
}
_HEADER_BYTES = 24
_PACKET_HEADER_BYTES = 16
_LINK_TYPE_DBUS = 231
_LINK_TYPE_BITS = 0x0FFFFFFF  # above them lies how long checksums are


class CaptureError(Exception):
    """The error in the file, for a message."""


@dataclass(frozen=True)
class Packet:
    """One packet; `number` is counted from 1."""

    number: int
    bytes: bytes
    lost_bytes: int


def is_capture(beginning: bytes) -> bool:
    """True if a file that begins so is a packet capture."""
    return beginning in _ORDERS


def packets(data: bytes | mmap.mmap) -> Iterator[Packet]:
    """All packets of a capture of D-Bus. CaptureError where it ends early, or is of something else."""
    order = _ORDERS[data[:4]]
    if len(data) < _HEADER_BYTES:
        raise CaptureError("the capture ends in its header")
    link_type = struct.unpack_from(f"{order}I", data, 20)[0] & _LINK_TYPE_BITS
    if link_type != _LINK_TYPE_DBUS:
        raise CaptureError(f"it has packets of link type {link_type}; D-Bus has {_LINK_TYPE_DBUS}")
    at = _HEADER_BYTES
    number = 0
    while at < len(data):
        number += 1
        if at + _PACKET_HEADER_BYTES > len(data):
            raise CaptureError(f"packet {number}: the capture ends in its header")
        kept_bytes, whole_bytes = struct.unpack_from(f"{order}II", data, at + 8)
        at += _PACKET_HEADER_BYTES
        if at + kept_bytes > len(data):
            raise CaptureError(f"packet {number}: the capture ends after {len(data) - at} of its {kept_bytes} bytes")
        yield Packet(number, data[at : at + kept_bytes], max(0, whole_bytes - kept_bytes))
        at += kept_bytes
