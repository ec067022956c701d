"""Intervals of a shift between two groups of recordings, by drawing machines again and again."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from operator import add, mul
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Units of both groups are paired from this number on: of 11 pairs, the rarest arrangement of signs has a probability of 1 in 1,024.
LEAST_SHARED = 12
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
    aren't independent. Units of both groups come first, in the order of `shared`; a draw has them equally often in both."""

    def __init__(self, unit_of: Mapping[int, str], seed: int, shared: Sequence[str] = ()) -> None:
        own = sorted(set(unit_of.values()) - set(shared))
        index = {unit: number for number, unit in enumerate([*shared, *own])}
        self.unit_of = {recording: index[unit] for recording, unit in unit_of.items()}
        self.sizes = [0] * len(index)
        for number in self.unit_of.values():
            self.sizes[number] += 1
        together, alone = _draws(len(shared), _SEED - 1), _draws(len(own), _SEED + seed)
        self.draws = [[1] * len(index), *map(add, together, alone)]  # the first is the sample itself
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


def sides_of(before: Mapping[int, str], after: Mapping[int, str]) -> tuple[Side, Side, int]:
    """Of two groups, and the number of units that both have: 0 if they are too few to be paired."""
    shared = sorted({*before.values()} & {*after.values()})
    if len(shared) < LEAST_SHARED:
        shared = []
    return Side(before, 0, shared), Side(after, 1, shared), len(shared)


def _draws(units: int, seed: int) -> Iterator[list[int]]:
    """How often each unit is drawn."""
    generator = random.Random(seed)
    for _ in range(_DRAWS):
        drawn = Counter(generator.choices(range(units), k=units)) if units else Counter[int]()
        yield [drawn[unit] for unit in range(units)]


def shift(before: Side, after: Side, values: Mapping[int, float], probability: float | None = None) -> Shift:
    olds, news = before.figures(values, probability), after.figures(values, probability)
    differences = sorted(new - old for old, new in zip(olds[1:], news[1:], strict=True))
    edge = round(0.025 * len(differences))
    return Shift(olds[0], news[0], differences[edge], differences[-edge - 1])
