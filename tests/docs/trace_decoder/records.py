"""The records of a file, one after the other (FORMAT.md: Grammar to Clock)."""

from __future__ import annotations

import struct
from pathlib import Path

from trace_decoder.container import member
from trace_decoder.cursor import WORD, Cursor, Damage, says_size, unpack
from trace_decoder.document import entry_points
from trace_decoder.event_block import EventBlock
from trace_decoder.tables import NO_MODULE, Module, Row, Shape, Stack, Trace
from trace_decoder.xxh64 import xxh64

(PROCESS, MODULES, ROWS, STACKS, SHAPES, CLOCK, EVENTS, END, NAMES) = range(1, 10)
LIVE = 11
(BLOCKS, MAPPINGS) = (1, 6)
SKIPPABLE = 1
HEADER_BYTES = RECORD_HEADER_BYTES = 16
LAST_FIELD = 39
TEXTS = {6, 7, 8, 9, 10, 11, 12, 21, 29}
REPEATED = {9, 10}
SEGMENT, SUMS, POSITION = 42, 43, 44


class NewerVersion(Exception):
    """The file has what only a later reader understands."""


def read_fields(trace: Trace, payload: Cursor) -> None:
    fields: dict[int, int | bytes | list[bytes]] = {}
    trace.segment, trace.sums, trace.positions = [], [], []
    while payload.left:
        number = payload.varint()
        value = Cursor(payload.text())
        if number == SEGMENT:
            trace.segment = varints(value)
        elif number == SUMS:
            trace.sums = varints(value)
        elif number == POSITION:
            trace.positions.append(varints(value))
        elif number in REPEATED:
            words = fields.setdefault(number, [])
            assert isinstance(words, list)
            words.append(value.data)
        elif number in TEXTS:
            fields[number] = value.data
        elif number <= LAST_FIELD:
            try:
                fields[number] = value.varint()
            except Damage:
                fields[number] = 0
    trace.fields = fields


def varints(value: Cursor) -> list[int]:
    numbers = []
    while value.left:
        numbers.append(value.varint())
    return numbers


def unpacked(payload: Cursor, expected_first: int) -> tuple[int, Cursor]:
    """The number of entries in a packed record, and their bytes."""
    first, count, size = payload.varint(), payload.varint(), payload.varint()
    if first != expected_first or count > 2**20 or size > 2**26:
        raise Damage(f"{count} entries of {size} bytes from {first}, where {expected_first} are known")
    entries = payload.take(payload.left)
    if len(entries) != size and not says_size(entries, size):
        raise Damage(f"a zstd frame that doesn't say that it holds {size} bytes")
    return count, Cursor(unpack(entries, size))


def read_modules(trace: Trace, payload: Cursor) -> None:
    count, entries = unpacked(payload, len(trace.modules))
    for _ in range(count):
        bias, start, length, generation = (entries.varint() for _ in range(4))
        trace.modules.append(Module(bias, start, start + length, generation, entries.text(), entries.text()))
    entries.expect_end()


def read_rows(trace: Trace, payload: Cursor) -> None:
    count, entries = unpacked(payload, len(trace.rows))
    address = 0
    for _ in range(count):
        module = entries.varint()
        address = (address + entries.svarint()) & WORD
        if module > NO_MODULE or address >= 2**48:
            raise Damage(f"a row at {address:#x} in module {module}")
        trace.rows.append(Row(module, address))
    entries.expect_end()


def read_stacks(trace: Trace, payload: Cursor) -> None:
    count, entries = unpacked(payload, len(trace.stacks))
    row = -1
    for _ in range(count):
        caller = len(trace.stacks) - 1 - entries.varint()
        row += 1 + entries.svarint()
        if caller < 0 or not 0 <= row < len(trace.rows):
            raise Damage(f"a stack of row {row} under stack {caller}")
        trace.stacks.append(Stack(caller, row))
    entries.expect_end()


def read_shapes(trace: Trace, payload: Cursor) -> None:
    count, entries = unpacked(payload, len(trace.shapes))
    stack = 0
    for _ in range(count):
        flags, align_log2 = entries.varint(), entries.byte()
        stack += entries.svarint()
        requested = entries.varint()
        usable = (requested + entries.svarint()) & WORD
        weight = struct.unpack("<d", entries.take(8))[0] if flags & 1 else 1.0
        shape = Shape(flags >> 2, bool(flags & 2), align_log2, stack, requested, usable, weight)
        family = "mappings" if shape.is_mapping else "allocations"
        if not 0 <= stack < len(trace.stacks) or shape.api not in entry_points()[family]:
            raise Damage(f"an impossible shape: {shape}")
        if not 1 <= weight <= 1e18 or align_log2 > 63:
            raise Damage(f"an impossible shape: {shape}")
        trace.shapes.append(shape)
    entries.expect_end()


def read_names(trace: Trace, payload: Cursor) -> None:
    count, entries = unpacked(payload, len(trace.names))
    trace.names += [entries.text() for _ in range(count)]
    entries.expect_end()


def read_clock(trace: Trace, payload: Cursor) -> None:
    stamp = ns = 0
    for _ in range(payload.varint()):
        stamp, ns = (stamp + payload.svarint()) & WORD, (ns + payload.svarint()) & WORD
        trace.clock.append((stamp, ns))
    payload.expect_end()


def read_events(trace: Trace, payload: Cursor) -> None:
    trace.blocks.append(EventBlock(payload, trace).block)


def read_live(trace: Trace, payload: Cursor) -> None:
    """A part of what the segment begins with; ids refer to the set's own dictionary."""
    live = trace.live
    part = payload.byte()
    if part in LIVE_DICTIONARY:
        LIVE_DICTIONARY[part](live.dictionary, payload)
    elif part == BLOCKS:
        count, entries = unpacked(payload, len(live.blocks))
        address = shape = 0
        for _ in range(count):
            address, shape = address + entries.varint(), shape + entries.svarint()
            if not 0 <= shape < len(live.dictionary.shapes) or live.dictionary.shapes[shape].is_mapping:
                raise Damage(f"a live block of shape {shape}")
            live.blocks.append((address & WORD, shape))
        entries.expect_end()
    elif part == MAPPINGS:
        count, entries = unpacked(payload, len(live.mappings))
        end = 0
        for _ in range(count):
            start = end + entries.varint()
            end = start + entries.varint()
            if end > WORD:
                raise Damage("a mapping beyond the address space")
            live.mappings.append((start, end))
        entries.expect_end()
    else:
        raise Damage(f"part {part} of live blocks")


LIVE_DICTIONARY = {MODULES: read_modules, ROWS: read_rows, STACKS: read_stacks, SHAPES: read_shapes}
READERS = {
    PROCESS: read_fields,
    MODULES: read_modules,
    ROWS: read_rows,
    STACKS: read_stacks,
    SHAPES: read_shapes,
    CLOCK: read_clock,
    EVENTS: read_events,
    END: read_fields,
    NAMES: read_names,
    LIVE: read_live,
}


def read_trace(path: Path) -> Trace:
    """A file, or a member of a container: F.short:NAME."""
    return read_bytes(path.read_bytes() if path.exists() else member(path))


def read_bytes(data: bytes) -> Trace:
    file = Cursor(data)
    trace = Trace()
    if file.take(8) != b"TARETRC\n":
        raise Damage("not a trace")
    version, header_bytes = struct.unpack("<II", file.take(8))
    if version > 1:
        raise NewerVersion(f"version {version}")
    file.take(header_bytes - HEADER_BYTES)
    while file.left and not trace.has_end and not trace.damage:
        head = file.take(min(RECORD_HEADER_BYTES, file.left))
        length = int.from_bytes(head[4:8], "little")
        if len(head) < RECORD_HEADER_BYTES or length > file.left:
            trace.is_cut = True
            break
        try:
            read_record(trace, head, file.take(length))
        except Damage as why:
            trace.damage = str(why)
    return trace


def read_record(trace: Trace, head: bytes, payload: bytes) -> None:
    kind, flags, length, checksum = struct.unpack("<HHIQ", head)
    if xxh64(payload, kind | flags << 16 | length << 32) != checksum:
        raise Damage(f"record {kind}: the checksum doesn't match")
    if kind in READERS:
        READERS[kind](trace, Cursor(payload))
    elif flags & SKIPPABLE:
        trace.skipped.append(kind)
    else:
        raise NewerVersion(f"record {kind}")
    trace.has_end = kind == END
