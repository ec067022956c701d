"""Stacks for flame graphs: whole, outermost first, and their sums are the report's."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.records import SORTS
from tare.reports import folded


def told(made: Handmade, counted: str, measure: str) -> dict[str, int]:
    lines = [line.rpartition(" ") for line in folded.lines(made.recording(), counted, measure)]
    assert len({stack for stack, _, _ in lines}) == len(lines), "a stack is one line"
    return {stack: int(amount) for stack, _, amount in lines}


def test_stacks_are_whole_and_begin_outside(made: Handmade) -> None:
    deep = [f"f{number}" for number in range(30)]
    made.blocks(made.stack(*deep, "main"), 100, 104, total=7, peak=3, end=1)
    made.blocks(made.stack("g;h", "main"), 10, 24, total=2, peak=2)
    made.blocks(made.stack("g;h", "main"), 20, 24, total=5)
    whole = ";".join(["main", *reversed(deep)])
    assert told(made, "peak_blocks", "usable") == {whole: 312, "main;g:h": 48}
    assert told(made, "peak_blocks", "slop") == {whole: 12, "main;g:h": 28}
    assert told(made, "total_blocks", "blocks") == {whole: 7, "main;g:h": 7}
    assert told(made, "end_blocks", "requested") == {whole: 100}


@pytest.mark.parametrize("measure", SORTS)
def test_there_is_a_sum_for_each_order_of_records(busy: Handmade, measure: str) -> None:
    assert told(busy, "peak_blocks", measure)


def test_sums_are_the_moments(busy: Handmade) -> None:
    recording = busy.recording()
    for counted, moment in (("peak_blocks", "peak"), ("end_blocks", "end")):
        assert sum(told(busy, counted, "usable").values()) == round(recording.moments[moment].usable_bytes)
