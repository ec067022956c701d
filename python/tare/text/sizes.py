"""Sizes as people write them on the command line."""

from __future__ import annotations

from tare.errors import USAGE, TareError

_FACTORS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_bytes(text: str, option: str) -> int:
    """`524288`, `512K`, `512KiB`, `4M`: bytes; K is 1,024."""
    number = text.strip().upper().removesuffix("IB")
    factor = _FACTORS.get(number[-1:]) if number[-1:].isalpha() else 1
    digits = number.rstrip("BKMG") if factor else ""
    if not digits.isdigit() or factor is None:
        raise TareError(USAGE, f"{option} needs a number of bytes such as 4096, 512K or 4M: '{text}'")
    return int(digits) * factor
