"""Numbers read as people read them."""

from __future__ import annotations

import pytest
from tare.errors import TareError
from tare.text.sizes import parse_bytes
from tare.text.units import change_share, duration, exact, human_bytes, human_count, percent, plural


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1023, "1.00 KiB"), (990, "990 B"), (1024, "1.00 KiB"), (1536, "1.50 KiB"), (10 * 1024, "10.0 KiB"),
     (-2048, "-2.00 KiB"), (1023 * 1024, "1.00 MiB"), (5 << 30, "5.00 GiB"), (3 << 60, "3072 PiB")],
)  # fmt: skip
def test_bytes_have_three_digits(value: float, text: str) -> None:
    assert human_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(9999, "9,999"), (14_361_234, "14.4 M"), (71_500, "71.5 k"), (999_999, "1000 k"), (2e9, "2 G")]
)
def test_counts(value: float, text: str) -> None:
    assert human_count(value) == text


def test_a_share_of_nothing_is_no_number() -> None:
    assert percent(1, 0) == "-"
    assert percent(1, 8) == "12.5%"


def test_durations_and_plurals() -> None:
    assert [duration(ns) for ns in (500_000, 87e6, 1.24e9, 200e9)] == ["0.5 ms", "87 ms", "1.24 s", "3 min 20 s"]
    assert plural(1, "block") == "1 block"
    assert plural(2500, "block") == "2,500 blocks"
    assert exact(1234567.4) == "1,234,567"


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("4096", 4096), ("512K", 512 << 10), ("512KiB", 512 << 10), ("4m", 4 << 20), ("10B", 10)],
)
def test_sizes_on_the_command_line(text: str, value: int) -> None:
    assert parse_bytes(text, "--sample") == value


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5M", "K", "12X"])
def test_what_is_no_size_is_said(text: str) -> None:
    with pytest.raises(TareError, match="--sample needs"):
        parse_bytes(text, "--sample")


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [(100, 112.34, "+12.3%"), (100, 50, "-50.0%"), (100, 999, "+899.0%"), (100, 1000, "x10"), (6, 6036, "x1,006"), (0, 5, "new"),
     (5, 0, "gone"), (5, 5.2, ""), (0, 0, "")],
)  # fmt: skip
def test_changes(before: float, after: float, text: str) -> None:
    assert change_share(before, after) == text
