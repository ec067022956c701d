"""Lengths of time on the command line."""

import pytest
from tare.text.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1.5s", 1.5),
        ("300ms", 0.3),
        ("7us", 7e-6),
        ("7ns", 7e-9),
        ("2m", 120),
        ("1h", 3600),
        ("7d", 604800),
    ],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "noon", "-1s", "1e3", "inf", "nan", "1.2.3s", "5 s", "5S", "\u0665s", "9" * 400]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a time such as 90s"):
        parse_duration(text)
