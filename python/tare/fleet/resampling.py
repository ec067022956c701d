"""Intervals of a shift between two groups of recordings, by drawing machines again and again."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_DRAWS = 1000
_SEED = 20  # the same store has the same answer


class Shift(NamedTuple):
    before: float
    after: float
    low: float  # of after - before
    high: float

    @property
    def change(self) -> float:
        return self.after - self.before


class Side:
    """One group: its units (machines), and how often each is drawn. A unit is drawn with all its recordings, because these
    aren't independent."""

    def __init__(self, unit_of: Mapping[int, str], seed: int) -> None:
        units = sorted(set(unit_of.values()))
        index = {unit: number for number, unit in enumerate(units)}
        self.unit_of = {recording: index[unit] for recording, unit in unit_of.items()}
        self.sizes = [0] * len(units)
        for number in self.unit_of.values():
            self.sizes[number] += 1
        generator = random.Random(_SEED + seed)
        everything = range(len(units))
        self.draws = [[1] * len(units)]  # the first is the sample itself
        for _ in range(_DRAWS):
            drawn = Counter(generator.choices(everything, k=len(units)))
            self.draws.append([drawn[unit] for unit in everything])
        self.weights = [sum(map(mul, draw, self.sizes)) for draw in self.draws]

    @property
    def recordings(self) -> int:
        return len(self.unit_of)

    @property
    def units(self) -> int:
        return len(self.sizes)

    def figures(self, values: Mapping[int, float], probability: float | None) -> list[float]:
        """The quantile, or without a probability the mean, in the sample and in each draw. Recordings without a value have 0."""
        ordered = sorted(
            (value, self.unit_of[recording]) for recording, value in values.items() if recording in self.unit_of
        )
        units = [unit for _, unit in ordered]
        sizes = [value for value, _ in ordered]
        found = []
        for draw, weight in zip(self.draws, self.weights, strict=True):
            counts = map(draw.__getitem__, units)
            if probability is None:
                found.append(sum(map(mul, counts, sizes)) / weight)
                continue
            cumulated = list(accumulate(counts))
            zeros = weight - (cumulated[-1] if cumulated else 0)
            rank = max(1, math.ceil(probability * weight - 1e-9)) - zeros
            found.append(sizes[bisect_left(cumulated, rank)] if rank > 0 else 0.0)
        return found


def shift(before: Side, after: Side, values: Mapping[int, float], probability: float | None = None) -> Shift:
    olds, news = before.figures(values, probability), after.figures(values, probability)
    differences = sorted(new - old for old, new in zip(olds[1:], news[1:], strict=True))
    edge = round(0.025 * len(differences))
    return Shift(olds[0], news[0], differences[edge], differences[-edge - 1])
