"""Lines break between words only."""

from __future__ import annotations

from tare.text.wrapping import wrap


def test_hyphens_break_no_line() -> None:
    assert wrap("see /usr/lib/libstdc++-12.so and --min-bytes", 30) == [
        "see /usr/lib/libstdc++-12.so",
        "and --min-bytes",
    ]


def test_a_word_longer_than_the_line_is_broken() -> None:
    assert wrap("a-b-c-d-e-f", 4) == ["a-b-", "c-d-", "e-f"]


def test_indents_count() -> None:
    assert wrap("one two three", 9, initial_indent="  ", subsequent_indent="    ") == ["  one two", "    three"]
    assert wrap("", 9) == []
