"""Quantiles by ranks: the values of a sorted sample that bound a quantile, for any distribution."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

CONFIDENCE = 0.95
PROBABILITIES = (0.5, 0.9, 0.99)


class Ranks(NamedTuple):
    """Ranks from 1 in a sorted sample. `low` and `high` bound the quantile with at least 95 % confidence; None: a sample of
    that size has no such values."""

    middle: int
    low: int | None
    high: int | None


class Quantile(NamedTuple):
    value: float | None  # None: the sample is too small to bound it
    low: float | None
    high: float | None


@cache
def ranks(size: int, probability: float) -> Ranks:
    """The number of values below the quantile is binomial. Each side has at most 2.5 %."""
    middle = max(1, math.ceil(size * probability - 1e-9))
    side = (1 - CONFIDENCE) / 2
    low = high = None
    below = 0.0  # chance of fewer than `rank` values below the quantile
    for rank in range(1, size + 1):
        below += _binomial(size, rank - 1, probability)
        if below <= side:
            low = rank
        if below >= 1 - side:
            high = rank
            break
    return Ranks(middle, low, high) if low and high else Ranks(middle, None, None)


@cache
def least_size(probability: float) -> int:
    """Recordings from which on a quantile has an interval: 6 for P50, 36 for P90, 368 for P99."""
    extreme = max(probability, 1 - probability)
    return math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log(extreme))


def label(probability: float) -> str:
    return f"P{probability * 100:.0f}"


def _binomial(size: int, count: int, probability: float) -> float:
    logarithm = math.lgamma(size + 1) - math.lgamma(count + 1) - math.lgamma(size - count + 1)
    return math.exp(logarithm + count * math.log(probability) + (size - count) * math.log1p(-probability))
