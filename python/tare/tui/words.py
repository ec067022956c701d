"""Amounts as the screens have them."""

from __future__ import annotations

from tare.text.units import human_bytes, human_count


def signed_in_unit(amount: float, unit: str, *, sign: bool = False) -> str:
    text = human_count(amount) if unit == "blocks" else human_bytes(amount)
    plus = "+" if sign and amount > 0 and not text.startswith("0") else ""
    return f"{plus}{text}{' s' if unit == 'byte-seconds' else ''}"
