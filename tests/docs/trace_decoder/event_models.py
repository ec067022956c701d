"""What an event block's guesses are made of (FORMAT.md: Symbol model, Address model)."""

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
        self.freed = [0] * 32
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
        self.freed = [0] * 4
        self.last = self.last_usable = self.last_foreign = 0
        self.acquired = 0
        self.living: dict[int, Acquired] = {}
        self.ages: dict[int, int] = {}
        self.released = self.released_step = 0

    def acquire(self, code: int, values: Cursor, shape: int, usable: int) -> int:
        at = slot_of(usable)
        if at not in self.slots or self.slots[at].usable != usable:
            self.slots[at] = SizeSlot(usable)
        slot = self.slots[at]
        if code == 0 or 6 <= code <= 36:
            address = slot.freed.pop(code and code - 5)
            slot.freed.append(0)
        elif code == 1:
            address = self.last + self.last_usable + 8 if self.acquired else 0
        elif code <= 5:
            address = self.freed.pop(code - 2)
            self.freed.append(0)
        elif code == 37:
            address = slot.last + slot.step
        elif code == 38:
            address = values.distance(self.last)
        else:
            raise Damage(f"acquire code {code}")
        address &= WORD
        slot.step, slot.last = address - slot.last, address
        self.last, self.last_usable = address, usable
        self.living[self.acquired] = Acquired(address, shape, usable)
        self.acquired += 1
        return address

    def release(self, code: int, values: Cursor, context: int) -> tuple[int, int]:
        """The address of the block that ends, and its shape if it was acquired here."""
        if code == 9:
            self.last_foreign = values.distance(self.last_foreign)
            self.freed = [self.last_foreign, *self.freed[:-1]]
            return self.last_foreign, NO_ENTRY
        if code == 0:
            number = self.acquired - self.ages.get(context, 0)
        elif code == 1:
            number = self.released + self.released_step
        elif code <= 7:
            number = next(islice(reversed(self.living), code - 2, None), NO_ENTRY)
        elif code == 8:
            number = self.acquired - values.varint()
        else:
            raise Damage(f"release code {code}")
        block = self.living.pop(number, None)
        if block is None:
            raise Damage(f"block {number} ends, which doesn't live")
        self.released_step, self.released = number - self.released, number
        self.ages[context] = self.acquired - number
        slot = self.slots[slot_of(block.usable)]
        slot.freed = [block.address, *slot.freed[:-1]]
        self.freed = [block.address, *self.freed[:-1]]
        return block.address, block.shape
