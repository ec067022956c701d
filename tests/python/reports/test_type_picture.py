"""A type field by field: holes where they are, lines of the cache, and what to move."""

from __future__ import annotations

from typing import cast

import pytest
from handmade_types import a_type
from tare._core import Layouts
from tare.reports.type_picture import picture
from tare.types.layouts import Type, price


class FakeLayouts:
    def __init__(self, fields: list[tuple[str, str, str, int, int, int]], order: list[int]) -> None:
        self._fields = fields
        self._order = order

    def fields(self, _: int) -> list[tuple[str, str, str, int, int, int]]:
        return self._fields

    def holes(self, _: int) -> list[tuple[int, int]]:
        return [(8, 56), (131, 5)]

    def order(self, _: int) -> list[int]:
        return self._order

    def narrow_order(self, _: int) -> list[int]:
        return self._order


FIELDS = [
    ("flag", "bool", "member", 0, 8, 1),
    ("next", "app::Node *", "member", 64, 64, 8),
    ("bits", "unsigned int", "bit-field", 128, 3, 4),
    ("name", "char[" + "9" * 70 + "]", "member", 136, 8, 1),
    ("", "app::Shared", "virtual base", 0, 64, 8),
]


def lines(each: Type, order: list[int], columns: int = 100) -> list[str]:
    layouts = cast("Layouts", FakeLayouts(FIELDS, order))
    return list(picture(each, price([each], "glibc")[0], layouts, "glibc", columns))


def test_fields_and_what_lies_between_them() -> None:
    text = lines(a_type("app::Node", 32, 24, tail_padding_bytes=2), [1, 0, 2, 3, 4])
    assert text[0] == "struct app::Node"
    assert text[1] == "  /src/a.h:3"
    fields = [line.split(maxsplit=2) for line in text[2:9]]
    assert fields[0] == ["0", "1", "bool flag"]
    assert fields[1] == ["1", "7", "── hole ──"]
    assert fields[2] == ["8", "8", "app::Node * next"]
    assert fields[3] == ["16", "3b", "unsigned int bits"]
    assert fields[4] == ["16:3", "5b", "── hole ──"]
    assert fields[6] == ["30", "2", "── tail padding ──"]
    assert "?  virtual base app::Shared" in text[9]
    assert text[-2].endswith("reordered 24 bytes, block of 32 instead of 48 under glibc:")
    assert text[-1].strip() in ("move flag after next", "move next to the front")


def test_a_block_that_stays_is_said() -> None:
    assert "nothing is saved on the heap" in " ".join(lines(a_type("A", 40, 36), [1, 0, 2, 3, 4]))


def test_what_has_no_order_says_why() -> None:
    assert "the compiler orders its fields itself" in " ".join(
        lines(a_type("A", 40, order_state="compiler orders"), [])
    )


@pytest.mark.parametrize("columns", [40, 80])
def test_it_fits_the_terminal(columns: int) -> None:
    each = a_type("app::" + "N" * 100, 640, 600, narrow=500, pointers=3)
    assert max(len(line) for line in lines(each, [3, 2, 1, 0, 4], columns)) <= columns
