# SPDX-License-Identifier: Apache-2.0
"""Finds a trace in a container (FORMAT.md: Containers)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from trace_decoder.cursor import Cursor, Damage
from trace_decoder.xxh64 import xxh64

if TYPE_CHECKING:
    from pathlib import Path

HEADER_BYTES = 16
TRAILER_BYTES = 16
START, MEMBER, DIRECTORY = 1, 2, 3


def members(data: bytes) -> dict[str, bytes]:
    """By the directory, else one after the other."""
    if data[:8] != b"TARECON\n":
        raise Damage("not a container")
    if data[-8:] == b"TAREEND\n":
        (at,) = struct.unpack("<Q", data[-TRAILER_BYTES:-8])
        return _by_directory(data, _record(data, at)[1])
    return _one_by_one(data)


def member(path: Path) -> bytes:
    container, _, name = str(path).rpartition(":")
    with open(container, "rb") as file:
        return members(file.read())[name]


def _record(data: bytes, at: int) -> tuple[int, Cursor, int]:
    """Type, payload, and where it ends."""
    kind, flags, length, checksum = struct.unpack("<HHIQ", data[at : at + 16])
    payload = data[at + 16 : at + 16 + length]
    if xxh64(payload, kind | flags << 16 | length << 32) != checksum:
        raise Damage(f"record {kind} of a container: the checksum doesn't match")
    return kind, Cursor(payload), at + 16 + length


def _by_directory(data: bytes, directory: Cursor) -> dict[str, bytes]:
    found = {}
    end = HEADER_BYTES
    for _ in range(directory.varint()):
        name = directory.text().decode()
        begin = end + directory.varint()
        end = begin + directory.varint()
        directory.text()
        found[name] = data[begin:end]
    return found


def _one_by_one(data: bytes) -> dict[str, bytes]:
    found = {}
    at = HEADER_BYTES
    while at + 16 <= len(data):
        kind, payload, at = _record(data, at)
        if kind == MEMBER:
            name = payload.text().decode()
            count = payload.varint()
            if at + count > len(data):
                break
            found[name] = data[at : at + count]
            at += count
    return found
