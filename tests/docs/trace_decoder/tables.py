"""The contents of a trace after reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

NO_ENTRY = -1
NO_MODULE = 65535
# Kinds of events; the kind of a note is its number.
(ALLOCATION, FREE, REALLOC_END, REALLOC_START, MAPPING_APPEARS, MAPPING_GOES) = range(1, 7)
(CONTENTS, DIGEST, NEW_DIGEST) = (25, 26, 32)


@dataclass(frozen=True)
class Module:
    load_bias: int
    start: int
    end: int
    generation: int
    path: bytes
    build_id: bytes


@dataclass(frozen=True)
class Row:
    module: int
    address: int


@dataclass(frozen=True)
class Stack:
    caller: int
    row: int


@dataclass(frozen=True)
class Shape:
    api: int
    is_mapping: bool
    align_log2: int
    stack: int
    requested: int
    usable: int
    weight: float


@dataclass(frozen=True, slots=True)
class Event:
    """`api` is that of a free or a note; `entry` a shape of an allocation or mapping, what a note refers to, or none."""

    stamp: int
    thread: int
    kind: int
    api: int
    address: int
    entry: int = NO_ENTRY
    free_stack: int | None = None


@dataclass(frozen=True)
class Block:
    """An event block."""

    thread: int
    first_event: int
    made_events: int
    first_chunk: int
    last_chunk: int
    frees_have_stacks: bool
    events: list[Event]


@dataclass
class LiveSet:
    """The state at the beginning of a segment. Of `dictionary` only modules, rows, stacks and shapes are used."""

    dictionary: Trace
    blocks: list[tuple[int, int]] = field(default_factory=list)  # address, shape
    mappings: list[tuple[int, int]] = field(default_factory=list)  # start, end


@dataclass
class Trace:
    """All that a file holds; `damage` says why reading ended early, `is_cut` that the file ends within a record."""

    fields: dict[int, int | bytes | list[bytes]] = field(default_factory=dict)
    modules: list[Module] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=lambda: [Stack(0, 0)])
    shapes: list[Shape] = field(default_factory=list)
    names: list[bytes] = field(default_factory=list)
    clock: list[tuple[int, int]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)  # number, stamp, continued; or none
    sums: list[int] = field(default_factory=list)
    positions: list[list[int]] = field(default_factory=list)  # thread, made events, stamp
    skipped: list[int] = field(default_factory=list)
    has_end: bool = False
    is_cut: bool = False
    damage: str | None = None

    @cached_property
    def live(self) -> LiveSet:
        return LiveSet(Trace())

    @cached_property
    def events(self) -> list[Event]:
        """Every thread's, in order of stamps, equal ones by thread."""
        return sorted((event for block in self.blocks for event in block.events), key=attrgetter("stamp", "thread"))

    def number(self, field_number: int) -> int:
        """A field of Process or End."""
        value = self.fields[field_number]
        assert isinstance(value, int)
        return value

    def text(self, field_number: int) -> str:
        value = self.fields[field_number]
        assert isinstance(value, bytes)
        return value.decode()

    def texts(self, field_number: int) -> list[str]:
        """A repeated field."""
        values = self.fields[field_number]
        assert isinstance(values, list)
        return [value.decode() for value in values]

    def addresses(self, stack: int) -> Iterator[int]:
        """The return addresses of a stack, innermost first."""
        while stack:
            yield self.rows[self.stacks[stack].row].address
            stack = self.stacks[stack].caller
