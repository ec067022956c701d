"""Class sets: prices by hand, and the optimum against every set there is."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from tare.allocator_replay.class_set import best_classes, round_up, slop


def test_a_request_takes_the_smallest_class_that_holds_it() -> None:
    assert slop({1: 1, 16: 1, 17: 2, 32: 1}, [16, 32]) == 15 + 2 * 15


def test_past_the_largest_class_pages_are_given() -> None:
    assert slop({33: 1, 4096: 1, 4097: 1}, [16, 32]) == 4063 + 0 + 4095


def test_few_sizes_need_few_classes() -> None:
    best = best_classes({24: 10, 40: 3}, 8, largest=1024, granule=8)
    assert [one.classes for one in best] == [[40], [24, 40]]
    assert [one.slop_bytes for one in best] == [160, 0]


def test_nothing_asked_for_needs_no_class() -> None:
    assert best_classes({}, 8, largest=1024, granule=8) == []
    assert best_classes({5000: 1}, 8, largest=1024, granule=8) == []


def test_pages_are_the_same_for_all() -> None:
    (one,) = best_classes({10: 1, 5000: 2}, 1, largest=1024, granule=16)
    assert one.classes == [16]
    assert one.slop_bytes == 6 + 2 * (8192 - 5000)


@pytest.mark.parametrize("seed", range(60))
def test_no_set_of_classes_does_better(seed: int) -> None:
    dice = random.Random(seed)
    granule = dice.choice([1, 8, 16])
    requests = {
        dice.randint(1, 200): dice.choice([1, 2, 5, 100, 0.5, 3.75]) for _ in range(dice.randint(1, 10))
    }  # a sampled recording has parts of blocks
    cells = sorted({round_up(size, granule) for size in requests})
    best = best_classes(requests, 12, largest=4096, granule=granule)
    assert len(best) == len(cells)
    for number, one in enumerate(best, start=1):
        assert len(one.classes) == number
        assert one.slop_bytes == pytest.approx(slop(requests, one.classes))
        least = min(slop(requests, [*few, cells[-1]]) for few in combinations(cells[:-1], number - 1))
        assert one.slop_bytes == pytest.approx(least)
