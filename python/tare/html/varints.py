"""Numbers as bytes of seven bits, the lowest first: the form of all numbers in the embedded store."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tare import _core

if TYPE_CHECKING:
    from collections.abc import Iterable


def varints(values: Iterable[int]) -> bytes:
    numbers = values if isinstance(values, array) and values.typecode == "Q" else array("Q", values)
    return _core.varints(numbers.tobytes())
