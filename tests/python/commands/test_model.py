"""Model: requests priced under tables, under classes given by hand, and the proposal's text."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.allocator_replay.class_set import best_classes
from tare.commands.model import (
    Priced,
    Sum,
    _proposal,
    _table,
    as_json,
    measured,
    parse_classes,
    price_classes,
    price_models,
    requests_of,
    steps,
)
from tare.errors import TareError


@pytest.fixture
def made() -> Handmade:
    made = Handmade()
    stack = made.stack("f", "main")
    made.blocks(stack, 24, 24, total=10, peak=4, header=8)
    made.blocks(made.stack("g", "main"), 24, 24, total=1, peak=0, header=8)
    made.blocks(stack, 100, 104, total=5, peak=1, header=8)
    made.blocks(stack, 64, 64, total=500, peak=500, api="pool block")  # never asked of malloc
    return made


def test_requests_are_priced_under_every_model(made: Handmade) -> None:
    priced = {each.model: each for each in price_models(requests_of(made.recording()))}
    asked = 11 * 24 + 5 * 100
    assert priced["glibc"] == Priced("glibc", Sum(196, 4 * 32 + 112), Sum(asked, 11 * 32 + 5 * 112))
    assert priced["jemalloc"] == Priced("jemalloc", Sum(196, 4 * 32 + 112), Sum(asked, 11 * 32 + 5 * 112))
    assert priced["scudo"].total == Sum(asked, 11 * 64 + 5 * 128)  # 16 bytes before each block, classes 32 apart


def test_what_was_measured_stands_beside_them(made: Handmade) -> None:
    assert measured(made.recording()) == Priced("as recorded", Sum(196, 4 * 32 + 112), Sum(764, 11 * 32 + 5 * 112))


def test_own_classes(made: Handmade) -> None:
    requests = requests_of(made.recording())
    assert requests.peak == {24: 4, 100: 1}
    assert requests.total == {24: 11, 100: 5}
    priced = price_classes("mine", requests, [32])
    assert priced == Priced("mine", Sum(196, 4 * 32 + 4096), Sum(764, 11 * 32 + 5 * 4096))


def test_classes_are_read_as_people_write_them() -> None:
    assert parse_classes("64,16, 1K,16") == [16, 64, 1024]
    for wrong in ("", ",", "16,x", "0", "-16"):
        with pytest.raises(TareError):
            parse_classes(wrong)


def test_steps_double_and_end_with_the_last() -> None:
    assert steps(1) == [1]
    assert steps(12) == [1, 2, 4, 8, 12]
    assert steps(0) == []


def test_narrow_terminals_get_the_column_that_was_aimed_at() -> None:
    priced = [Priced("glibc", Sum(196, 240), Sum(764, 912))]
    assert list(_table(priced, "peak", 80))[-1].split() == ["glibc", "44", "B", "18.3%", "148", "B", "16.2%"]
    assert list(_table(priced, "total", 26))[-1].split() == ["glibc", "148", "B", "16.2%"]
    assert all(len(line) <= 40 for line in _table(priced, "total", 40))


def test_the_proposal_names_the_classes_and_fits() -> None:
    requests = dict.fromkeys(range(16, 4096, 16), 1.0)
    best = best_classes(requests, 100, largest=32768, granule=16)
    text = list(_proposal(best, requests, "peak", 60))
    assert all(len(line) <= 60 for line in text)
    listed = "".join(text[text.index("", 1) + 1 :]).split(":")[1]
    assert [int(part) for part in listed.split(",")] == best[-1].classes


def test_json() -> None:
    best = best_classes({24: 2.0, 40: 1.0}, 2, largest=64, granule=8)
    got = as_json([Priced("glibc", Sum(3.0, 4.0), Sum(1.2, 2.0))], best, "peak")
    assert got["models"][0]["requested_bytes"] == 1
    assert got["best"] == [{"classes": [40], "slop_bytes": 32}, {"classes": [24, 40], "slop_bytes": 0}]
