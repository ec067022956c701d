"""Types of binaries: their layouts, and their sizes in an allocator's blocks."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tare._core import Layouts

# Headers of the system: a user can't reorder their types.
_SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/lib64/", "/rustc/")
MOVABLE = "movable"


class Type(NamedTuple):
    """A row of table `types` (src/core/types/layout_table.h); where it was read is `binary`."""

    type_id: int
    name: str
    kind: str
    language: str
    file: str | None
    line: int | None
    size_bytes: int
    align_bytes: int
    hole_bytes: int
    hole_bits: int
    tail_padding_bytes: int
    cache_lines: int
    straddling_fields: int
    order_state: str
    reordered_bytes: int
    pointers: int
    narrow_bytes: int
    narrow_reordered_bytes: int
    is_standard_layout: int
    is_polymorphic: int
    binary: int = 0

    @property
    def is_system(self) -> bool:
        return self.file is not None and self.file.startswith(_SYSTEM)

    @property
    def padding_bytes(self) -> int:
        return self.hole_bytes + self.tail_padding_bytes

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


class Field(NamedTuple):
    name: str
    type: str
    kind: str
    offset_bits: int
    size_bits: int
    align_bytes: int


class Blocks(NamedTuple):
    """The heap bytes of one object, headers included, under one allocator."""

    size_bytes: int
    reordered_bytes: int
    narrow_bytes: int
    narrow_reordered_bytes: int

    @property
    def saved_bytes(self) -> int:
        return self.size_bytes - self.reordered_bytes

    @property
    def narrow_saved_bytes(self) -> int:
        return self.size_bytes - self.narrow_reordered_bytes


def types_of(read: Sequence[Layouts]) -> list[Type]:
    """Of all binaries; equal types of several once."""
    seen: set[tuple[object, ...]] = set()
    found = []
    for binary, layouts in enumerate(read):
        table = layouts.table
        columns = [table.values(name) for name in Type._fields[:-1]]
        for row in zip(*columns, strict=True):
            each = Type._make([*row, binary])
            key = each[1:-1]
            if len(read) == 1 or key not in seen:
                seen.add(key)
                found.append(each)
    return found


def matching(types: Iterable[Type], pattern: str) -> list[Type]:
    """`pattern` with * ? [ for the whole name, else a type of that name, with namespaces or without; where there is none all whose
    names hold it. As people write names, too."""
    from tare.naming.cpp_names import shorten

    if any(sign in pattern for sign in "*?["):
        return [
            each
            for each in types
            if fnmatch.fnmatchcase(each.name, pattern) or fnmatch.fnmatchcase(shorten(each.name), pattern)
        ]
    named = [(each, shorten(each.name)) for each in types if pattern in each.name or pattern in shorten(each.name)]
    exact = [
        each
        for each, short in named
        if any(name == pattern or name.endswith(f"::{pattern}") for name in (each.name, short))
    ]
    return exact or [each for each, _ in named]


def price(types: Sequence[Type], model: str) -> list[Blocks]:
    """blocks[i] are those of types[i]."""
    from tare import _core

    sizes = sorted(
        {
            size
            for each in types
            for size in (each.size_bytes, each.reordered_bytes, each.narrow_bytes, each.narrow_reordered_bytes)
        }
    )
    slot = dict(zip(sizes, _core.slot_bytes(model, sizes), strict=True))
    return [
        Blocks(
            slot[each.size_bytes],
            slot[each.reordered_bytes],
            slot[each.narrow_bytes],
            slot[each.narrow_reordered_bytes],
        )
        for each in types
    ]


def moves(order: Sequence[int]) -> list[tuple[int, int | None]]:
    """The fewest fields to take out and put elsewhere: (field, the one it then follows; None: first)."""
    staying = set(_longest_ascending(order))
    return [(field, order[place - 1] if place else None) for place, field in enumerate(order) if field not in staying]


def _longest_ascending(order: Sequence[int]) -> list[int]:
    best: list[list[int]] = []  # best[n]: of those with n + 1 members the one with the lowest end
    for field in order:
        at = next((n for n, chain in enumerate(best) if chain[-1] > field), len(best))
        chain = [*(best[at - 1] if at else []), field]
        if at == len(best):
            best.append(chain)
        else:
            best[at] = chain
    return best[-1] if best else []
