"""Types in collected heaps, as tare::gc counted them (src/lib/gc/heap/heap_pool.h), and the cells of other sizes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tare import _core
from tare.naming.cpp_names import without_versions
from tare.types.type_sites import arguments_of, own_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tare.types.layouts import Type
    from tare.types.type_sites import Types

# An inlined function's name has no namespace.
_MAKE = re.compile(r"(?:tare::gc::)?make<")
_CELL_HEADER_BYTES = 4  # tare/internal/gc/cell.h
_PATH = re.compile(r"tare::gc::Heap/(\d+)/(?:(pages)|(objects|cells)/(.*))", re.DOTALL)


class Counted(NamedTuple):
    """Objects of one type in one heap."""

    name: str
    objects: int
    cell_bytes: int


class Collected(NamedTuple):
    """Such objects and their type; bytes are of cells, headers included."""

    type: Type
    objects: int
    cell_bytes: int

    @property
    def page_bytes(self) -> int:
        """Of the pages that such cells lie in (tare/internal/gc/cell.h); objects of more than 32 KiB have pages of their own size."""
        return 64 << 10 if self.cell_bytes <= 2048 * self.objects else 256 << 10

    def saved_bytes(self, object_bytes: int) -> int:
        """By objects of that size in place of the type's. Where objects have arrays of their own behind them, without rounding."""
        before, after = _core.cell_bytes(
            [(size, self.type.align_bytes) for size in (self.type.size_bytes, object_bytes)]
        )
        if self.cell_bytes != before * self.objects:
            return self.objects * (self.type.size_bytes - object_bytes)
        return self.objects * (before - after)


def made_by(function: str) -> str | None:
    """The type that tare::gc::make() makes: its first template argument. None: another function."""
    name = own_name(without_versions(function))
    return next(iter(arguments_of(name)), None) if _MAKE.match(name) else None


def in_cell(type_: Type, requested_bytes: int) -> Collected:
    """An object that was recorded as a block of its own (TARE_GC_RECORD=objects): its cell without the header."""
    return Collected(type_, 1, requested_bytes + _CELL_HEADER_BYTES)


def is_report_of_types(path: str | None) -> bool:
    """True if an amount is one of the collector's, and not the program's own figure for its blocks."""
    return path is not None and _PATH.match(path) is not None


def counted_at(amounts: Iterable[tuple[str | None, int, int]], time_ns: int) -> list[Counted]:
    """`amounts`: path, time, amount, by time. A heap reports as it grows; for each heap the reports nearest to that time."""
    nearest: dict[str, tuple[int, list[Counted]]] = {}
    for heap, report_ns, counted in _reports(amounts):
        away = abs(report_ns - time_ns)
        if heap not in nearest or away <= nearest[heap][0]:
            nearest[heap] = (away, counted)
    return [each for _, counted in nearest.values() for each in counted]


def _reports(amounts: Iterable[tuple[str | None, int, int]]) -> Iterator[tuple[str, int, list[Counted]]]:
    open_: dict[str, tuple[int, dict[str, dict[str, int]]]] = {}
    for path, time_ns, amount in amounts:
        match = _PATH.match(path or "")
        if match is None:
            continue
        heap, is_first, what, name = match.groups()
        if is_first:
            if heap in open_:
                yield heap, open_[heap][0], _counted(open_[heap][1])
            open_[heap] = (time_ns, {})
        elif heap in open_:
            open_[heap][1].setdefault(name, {})[what] = amount
    for heap, (time_ns, types) in open_.items():
        yield heap, time_ns, _counted(types)


def _counted(types: dict[str, dict[str, int]]) -> list[Counted]:
    return [
        Counted(name, sums["objects"], sums["cells"])
        for name, sums in types.items()
        if sums.keys() == {"objects", "cells"}
    ]


def find_types(counted: Sequence[Counted], modules: Sequence[Types]) -> list[Collected]:
    """Those that a module describes, each type once."""
    found: dict[tuple[object, ...], Collected] = {}
    for each in counted:
        name = each.name.replace("{anonymous}", "(anonymous namespace)")  # gcc's form
        type_ = next((type_ for types in modules if (type_ := types.named(name)) is not None), None)
        if type_ is None:
            continue
        before = found.get(type_[1:], Collected(type_, 0, 0))
        found[type_[1:]] = Collected(type_, before.objects + each.objects, before.cell_bytes + each.cell_bytes)
    return list(found.values())
