"""The table of types: it fits, it says which savings are none, and what nobody can change isn't in it."""

from __future__ import annotations

import pytest
from handmade_types import a_type
from tare.reports.layout_tables import Choice, diff_table, narrow_summary, overview
from tare.types.layouts import price

TYPES = [
    a_type("app::Large<std::vector<int, std::allocator<int> >, " + "x" * 200 + ">", 1000, 800),
    a_type("app::Same", 40, 36),
    a_type("app::Plain", 16, is_standard_layout=1),
    a_type("std::Theirs", 24, 16, file="/usr/include/theirs.h"),
]
ROWS = list(zip(TYPES, price(TYPES, "jemalloc"), strict=True))


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_it_fits_the_terminal(columns: int) -> None:
    for sort in ("saving", "size", "narrow"):
        lines = list(overview(ROWS, Choice("jemalloc", sort, 0, True, 2), columns))
        assert max(len(line) for line in lines) <= columns


def test_what_saves_nothing_is_said() -> None:
    text = "\n".join(overview(ROWS, Choice("jemalloc", units=2), 100))
    assert "4 types of 2 units, 3 of them with padding" in text
    assert "1 of 2 that would be smaller save nothing on jemalloc's heap" in text
    assert "1 type of the system's headers" in text
    assert "Theirs" not in text
    assert "Plain" not in text  # it has the best order
    assert "1,024 → 896" in text
    assert "Theirs" in "\n".join(overview(ROWS, Choice("jemalloc", with_system=True), 100))


def test_a_limit_says_what_it_hides() -> None:
    text = "\n".join(overview(ROWS, Choice("jemalloc", "size", 1), 100))
    assert "(2 more: --rows all prints them)" in text
    assert "app::Same" not in text


def test_nothing_to_gain() -> None:
    rows = [(TYPES[2], price(TYPES[2:3], "glibc")[0])]
    assert list(overview(rows, Choice("glibc", units=1), 80))[-1] == "no type would be smaller in another order"


def test_what_padding_eats_of_narrow_pointers() -> None:
    eaten = a_type("A", 32, 32, pointers=2, narrow_bytes=32, narrow_reordered_bytes=24)
    whole = a_type("B", 16, 16, pointers=2, narrow_bytes=8, narrow_reordered_bytes=8)
    told = narrow_summary([eaten, whole, a_type("C", 800)])
    assert "the 2 types that hold some would be 16.7% smaller, and 33.3% reordered as well" in told
    assert "padding eats 50.0% of what the pointers give" in told
    assert narrow_summary([a_type("C", 8)]) == "no type holds pointers to data"


def test_a_diff_shows_both_sides() -> None:
    old, new = ROWS[1], (a_type("app::Same", 64, 64), price([a_type("app::Same", 64)], "jemalloc")[0])
    lines = list(diff_table([(old, new)], "jemalloc", 80))
    assert lines[1].split() == ["40", "→", "64", "48", "→", "64", "4", "→", "0", "app::Same"]
    assert all(len(line) <= 40 for line in diff_table([(old, new)], "jemalloc", 40))
