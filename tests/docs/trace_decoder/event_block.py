"""One thread's events out of columns (FORMAT.md: Events)."""

from __future__ import annotations

from dataclasses import replace

from trace_decoder.cursor import Cursor, Damage, unpack, unzigzag
from trace_decoder.event_models import AddressModel, SymbolModel
from trace_decoder.tables import (
    ALLOCATION,
    CONTENTS,
    DIGEST,
    FREE,
    MAPPING_APPEARS,
    MAPPING_GOES,
    NO_ENTRY,
    REALLOC_END,
    REALLOC_START,
    Block,
    Event,
    Trace,
)

FIRST_SHAPE = 32
FIRST_NOTE, LAST_NOTE = 8, 33
NOTES_OF_NAMES = {15, 17, 31}
NOTES_OF_SHAPES = {18: True, 20: True, 28: True, 29: False, 33: True}  # whether those of mappings
COLUMNS = 9
(EVENT_CODES, SYMBOL_VALUES, ACQUIRE_VALUES, RELEASE_VALUES) = range(4)
(STAMP_STEPS, STAMP_RESTS, MAPPINGS, NOTES, FREE_STACKS) = range(4, 9)


class EventBlock:
    """Walks through the events of a block, with one cursor a column."""

    def __init__(self, payload: Cursor, trace: Trace) -> None:
        self.flags, self.thread, first_event, made_events = (payload.varint() for _ in range(4))
        first_chunk, chunks, self.event_records = (payload.varint() for _ in range(3))
        first_stamp, stamp_range, self.shape_count, self.stack_count = (payload.varint() for _ in range(4))
        self.used_shapes, columns = payload.varint(), payload.varint()
        if self.shape_count > len(trace.shapes) or self.stack_count > len(trace.stacks):
            raise Damage("an event block ahead of the dictionary")
        if self.event_records > 2**17 or self.used_shapes > self.shape_count:
            raise Damage("an event block of impossible sizes")
        if columns != COLUMNS:
            raise Damage(f"an event block of {columns} columns")
        sizes = [(payload.varint(), payload.varint()) for _ in range(COLUMNS)]
        self.columns = [Cursor(unpack(payload.take(packed), raw)) for raw, packed in sizes]
        payload.expect_end()
        self.shapes, self.names = trace.shapes, trace.names
        self.symbols, self.addresses = SymbolModel(), AddressModel()
        self.free_stacks: dict[int, int] = {}
        self.stamp, self.last_mapping = first_stamp, 0
        self.events: list[Event] = []
        while len(self.events) < self.event_records:
            self.decode_event()
        self.name_contents()
        for column in self.columns:
            column.expect_end()
        if len(self.events) != self.event_records or self.stamp != first_stamp + stamp_range:
            raise Damage("an event block that ends elsewhere than announced")
        last_chunk, frees_have_stacks = first_chunk + chunks, bool(self.flags & 1)
        self.block = Block(
            self.thread, first_event, made_events, first_chunk, last_chunk, frees_have_stacks, self.events
        )

    def decode_event(self) -> None:
        self.step()
        place, code = divmod(self.columns[EVENT_CODES].byte(), 16)
        if code == 9 and place == 0:
            note = self.columns[NOTES]
            kind, api, address, entry = note.byte(), note.byte(), note.varint(), note.varint()
            if kind < FIRST_NOTE or not self.may_refer(kind, entry):
                raise Damage(f"a note of kind {kind} about {entry}")
            self.add(kind, api, address, entry - 1)
            return
        symbol = self.symbol(code)
        token: int | None = symbol
        shape, use = divmod(symbol - FIRST_SHAPE, 4)
        if shape < 0:
            stack = self.free_stack() if self.flags & 1 else None
            address, ended = self.release(place)
            self.add(FREE, symbol, address, NO_ENTRY, stack)
            if ended != NO_ENTRY:
                token = ~(FIRST_SHAPE + 4 * ended)
        elif use == 0:
            self.add(ALLOCATION, 0, self.acquire(place, shape), shape)
        elif use == 1:
            self.add(REALLOC_END, 0, self.release(place)[0])
            self.step()
            place, second_code = divmod(self.columns[EVENT_CODES].byte(), 16)
            if second_code != 0:
                raise Damage(f"symbol code {second_code} for a realloc's second event")
            self.add(REALLOC_START, 0, self.acquire(place, shape), shape)
        elif place != 0:
            raise Damage(f"place code {place} for a mapping")
        else:
            self.last_mapping = self.columns[MAPPINGS].distance(self.last_mapping)
            self.add(MAPPING_APPEARS if use == 2 else MAPPING_GOES, 0, self.last_mapping, shape)
            token = None
        self.symbols.see(symbol)
        if token is not None:
            self.symbols.remember(token)

    def may_refer(self, kind: int, entry: int) -> bool:
        if kind == CONTENTS:
            return 1 <= entry <= 2**32 - 1
        if entry == 0 or kind > LAST_NOTE:
            return True
        if kind in NOTES_OF_NAMES:
            return entry <= len(self.names)
        if kind not in NOTES_OF_SHAPES or entry > self.shape_count:
            return False
        return self.shapes[entry - 1].is_mapping == NOTES_OF_SHAPES[kind]

    def name_contents(self) -> None:
        """A note of contents without an address is about the block that the next event ends, after the note's digest."""
        for i, note in enumerate(self.events):
            if note.kind != CONTENTS or note.address != 0:
                continue
            after = [event for event in self.events[i + 1 : i + 3] if event.kind != DIGEST]
            if not after or after[0].kind not in (FREE, REALLOC_END):
                raise Damage("contents of a block that nothing ends")
            self.events[i] = replace(note, address=after[0].address)

    def step(self) -> None:
        step = self.columns[STAMP_STEPS].byte()
        self.stamp += step if step < 255 else 255 + self.columns[STAMP_RESTS].varint()

    def symbol(self, code: int) -> int:
        """A free's entry point, or FIRST_SHAPE + 4 x shape + use."""
        values = self.columns[SYMBOL_VALUES]
        if code <= 4:
            symbol = self.symbols.guess(code)
        elif code == 5:
            symbol = FIRST_SHAPE + 4 * self.used_shapes
        elif code == 6:
            symbol = 1
        elif code == 7:
            v = values.varint()
            symbol = FIRST_SHAPE + 4 * (self.used_shapes - unzigzag(v // 4)) + v % 4
        elif code == 8:
            symbol = values.varint()
        else:
            raise Damage(f"symbol code {code}")
        shape = (symbol - FIRST_SHAPE) // 4
        is_possible = {7: shape >= 0, 8: shape < 0}.get(code, True)
        if symbol < 1 or shape >= self.shape_count or not is_possible:
            raise Damage(f"symbol {symbol} by code {code}, with {self.shape_count} shapes")
        if shape >= 0 and self.shapes[shape].is_mapping != (symbol % 4 >= 2):
            raise Damage(f"symbol {symbol}, of a shape for something else")
        self.used_shapes = max(self.used_shapes, shape + 1)
        return symbol

    def free_stack(self) -> int | None:
        context = self.symbols.context
        guess = self.free_stacks.get(context, 0) + self.columns[FREE_STACKS].svarint()
        if not 0 <= guess <= self.stack_count:
            raise Damage(f"a free at stack {guess - 1}")
        self.free_stacks[context] = guess
        return guess - 1 if guess else None

    def acquire(self, code: int, shape: int) -> int:
        return self.addresses.acquire(code, self.columns[ACQUIRE_VALUES], shape, self.shapes[shape].usable)

    def release(self, code: int) -> tuple[int, int]:
        return self.addresses.release(code, self.columns[RELEASE_VALUES], self.symbols.context)

    def add(self, kind: int, api: int, address: int, entry: int = NO_ENTRY, free_stack: int | None = None) -> None:
        self.events.append(Event(self.stamp, self.thread, kind, api, address, entry, free_stack))
