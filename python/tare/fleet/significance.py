"""Tests if two groups differ, which may share members: Welch's test, and the selection of many tests that bounds the share of false ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS = 300  # of the continued fraction; 30 suffice for up to 1,000 degrees of freedom


class Group(NamedTuple):
    size: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        return self.total / self.size

    @property
    def error(self) -> float:
        """Variance of the mean."""
        return max(0.0, (self.squares - self.total * self.mean) / (self.size - 1)) / self.size


def welch(a: Group, b: Group, shared: int = 0, covariance: float = 0.0) -> float:
    """Two-sided probability of such a difference of means by chance. Not below that of the rarest permutation: values that don't
    vary within a group prove no more than their number.

    `shared`: members that both groups have, with the covariance of their two values. The test is that of partially overlapping
    samples then (Derrick, Toher and White 2017), which is the paired test if all members are shared, and Welch's if none is."""
    difference = abs(a.mean - b.mean)
    error = a.error + b.error - 2 * covariance * shared / (a.size * b.size)
    alone = (a.size - shared, b.size - shared)
    rarest = 2 / (math.comb(sum(alone), alone[0]) << shared)
    scale = max(1.0, abs(a.mean), abs(b.mean))
    if difference <= 1e-9 * scale:
        return 1.0
    if error <= 1e-24 * scale**2:  # of equal differences the rest is rounding
        return min(1.0, rarest)
    freedom = (a.error + b.error) ** 2 / (a.error**2 / (a.size - 1) + b.error**2 / (b.size - 1))
    if shared:
        weight = sum(alone) / (sum(alone) + 2 * shared)
        freedom = shared - 1 + (freedom - shared + 1) * weight
    t2 = difference**2 / error
    return min(1.0, max(rarest, _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t2))))


def discoveries(probabilities: Sequence[float], rate: float, weights: Sequence[float] | None = None) -> set[int]:
    """Benjamini and Hochberg: indexes of tests of which at most the share `rate` is expected to be false. Weights have a mean of 1, and
    must not depend on the groups (Genovese, Roeder and Wasserman 2006): a test of weight 4 is chosen at the fourfold probability."""
    weighted = [p / w for p, w in zip(probabilities, weights or [1.0] * len(probabilities), strict=True)]
    order = sorted(range(len(weighted)), key=weighted.__getitem__)
    last = 0
    for turn, index in enumerate(order, 1):
        if weighted[index] <= rate * turn / len(order):
            last = turn
    return set(order[:last])


def shares(sizes: Sequence[float]) -> list[float]:
    """Weights of tests: half of them in equal parts, half by size. A large site matters more, and a small one can still be found."""
    whole = sum(sizes)
    return [0.5 + 0.5 * len(sizes) * size / whole if whole > 0 else 1.0 for size in sizes]


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularized, by its continued fraction (DLMF 8.17.22, evaluated from the end)."""
    if x <= 0 or x >= 1:
        return min(1.0, max(0.0, x))
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction = 1.0
    for step in range(_STEPS, 0, -1):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1 + term / fraction
    return math.exp(logarithm) / (a * fraction)
