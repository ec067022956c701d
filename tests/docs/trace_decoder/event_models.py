"""The guesses of an event block (FORMAT.md: Symbol model, Address model)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from trace_decoder.cursor import WORD, Cursor, Damage
from trace_decoder.tables import NO_ENTRY


def mix(a: int, b: int) -> int:
    h = ((a ^ b * 0x9E3779B97F4A7C15 & WORD) * 0xBF58476D1CE4E5B9) & WORD
    return h ^ h >> 31


def slot_of(usable: int) -> int:
    return (mix(usable, 2) >> 33) % 256


class SymbolModel:
    """Guesses what the program does next from what it did last."""

    def __init__(self) -> None:
        self.history = 0
        self.context = 0
        self.by_context = [0] * 16384
        self.by_history: dict[int, list[int]] = {}

    def guess(self, code: int) -> int:
        if code == 0:
            return self.by_context[self.context]
        return self.by_history.get(self.history % 4096, [0] * 4)[code - 1]

    def see(self, symbol: int) -> None:
        self.by_context[self.context] = symbol
        recent = self.by_history.setdefault(self.history % 4096, [0] * 4)
        recent.remove(symbol) if symbol in recent else recent.pop()
        recent.insert(0, symbol)

    def remember(self, token: int) -> None:
        self.history = (self.history << 20 ^ (token * 0x9E3779B1 & 2**32 - 1) >> 12) & WORD
        self.context = mix(self.history % 2**60, 1) >> 40 & 16383


class SizeSlot:
    def __init__(self, usable: int) -> None:
        self.usable = usable
        self.freed: list[int] = []  # numbers, newest first
        self.last = 0
        self.step = 0


@dataclass
class Acquired:
    address: int
    shape: int
    usable: int


class AddressModel:
    """Guesses where blocks appear, and which end."""

    def __init__(self) -> None:
        self.slots: dict[int, SizeSlot] = {}
        self.last = self.last_cut_end = self.last_foreign = 0
        self.blocks: list[Acquired] = []
        self.living: dict[int, None] = {}  # numbers, oldest first
        self.reused: set[int] = set()
        self.ages: dict[int, int] = {}
        self.released = self.released_step = 0

    def acquire(self, code: int, values: Cursor, shape: int, usable: int) -> int:
        at = slot_of(usable)
        if at not in self.slots or self.slots[at].usable != usable:
            self.slots[at] = SizeSlot(usable)
        slot = self.slots[at]
        if code == 0:
            address = self.blocks[slot.freed.pop(0)].address if slot.freed else 0
            self.drop_reused(slot)
        elif code == 1:
            address = self.last_cut_end
        elif code == 2:
            address = slot.last + slot.step
        elif code == 3:
            number = len(self.blocks) - values.varint()
            if not 0 <= number < len(self.blocks):
                raise Damage(f"the place of block {number}, which there isn't")
            address = self.blocks[number].address
            self.reused.add(number)
            self.drop_reused(self.slots[slot_of(self.blocks[number].usable)])
        elif code == 4:
            address = values.distance(self.last)
        else:
            raise Damage(f"acquire code {code}")
        address &= WORD
        if code not in (0, 3):
            self.last_cut_end = address + usable + 8
        slot.step, slot.last = address - slot.last, address
        self.last = address
        self.living[len(self.blocks)] = None
        self.blocks.append(Acquired(address, shape, usable))
        return address

    def drop_reused(self, slot: SizeSlot) -> None:
        while slot.freed and slot.freed[0] in self.reused:
            slot.freed.pop(0)

    def release(self, code: int, values: Cursor, context: int) -> tuple[int, int]:
        """The address of the block that ends, and its shape if it was acquired here."""
        if code == 9:
            self.last_foreign = values.distance(self.last_foreign)
            return self.last_foreign, NO_ENTRY
        if code == 0:
            number = len(self.blocks) - self.ages.get(context, 0)
        elif code == 1:
            number = self.released + self.released_step
        elif code <= 7:
            number = next(islice(reversed(self.living), code - 2, None), NO_ENTRY)
        elif code == 8:
            number = len(self.blocks) - values.varint()
        else:
            raise Damage(f"release code {code}")
        if number not in self.living:
            raise Damage(f"block {number} ends, which doesn't live")
        del self.living[number]
        block = self.blocks[number]
        self.released_step, self.released = number - self.released, number
        self.ages[context] = len(self.blocks) - number
        slot = self.slots[slot_of(block.usable)]
        slot.freed = [number, *slot.freed[:31]]
        return block.address, block.shape
