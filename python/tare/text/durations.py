"""Lengths of time as people write them on the command line."""

from __future__ import annotations

import math

_FACTORS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


def parse_duration(text: str) -> float:
    """`90`, `90s`, `10min`, `1h` or `7d`: seconds. ValueError for anything else."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    factor = _FACTORS.get(text[len(number) :])
    is_number = number.isascii() and number.replace(".", "", 1).isdecimal()
    seconds = float(number) * factor if factor is not None and is_number else math.inf
    if seconds == math.inf:  # of hundreds of digits, too
        raise ValueError("a time such as 90s, 10min, 1h or 7d")
    return seconds
