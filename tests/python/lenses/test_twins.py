"""Twins: on pairs that are known."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.not_sought import not_sought
from tare.analysis.recording import Recording


def symbols(made: Handmade, pairs: int, texts: int = 1000) -> None:
    """1,000 symbols of 16 bytes, of which `pairs` have a text of 20 that lives as long; half live at the peak."""
    symbol = made.blocks(made.stack("new_symbol@a.c:1", "main@a.c:9"), 16, 24, total=1000, peak=500)
    text = made.blocks(made.stack("copy_text@a.c:2", "main@a.c:9"), 20, 24, total=texts, peak=texts / 2)
    made.twins(symbol, text, pairs=pairs, joined_gross=48)


def test_a_pair_saves_what_one_block_takes_less(made: Handmade) -> None:
    symbols(made, pairs=1000)
    (finding,) = made.recording().findings(lenses.load("twins"))
    assert finding.bytes_peak == 500 * (32 + 32 - 48)
    assert finding.bytes_total == 1000 * 16
    assert finding.calls == 1000
    assert "copy_text (a.c:2)" in finding.remedy_in("C++"), "the other site has a name"
    assert "100% of both" in finding.remedy_in("C++")
    assert "64 bytes apart and 48 joined" in finding.remedy_in("C++")
    assert finding.confidence == "high"


def test_both_must_be_paired_in_nine_of_ten(made: Handmade) -> None:
    symbols(made, pairs=890)
    assert made.recording().findings(lenses.load("twins")) == []
    other = Handmade()
    symbols(other, pairs=1000, texts=1200)
    assert other.recording().findings(lenses.load("twins")) == []


def test_pairs_that_are_not_always_pairs_are_low(made: Handmade) -> None:
    """libxml2: 92 % of the elements have one attribute, others several or none."""
    symbols(made, pairs=920)
    (finding,) = made.recording().findings(lenses.load("twins"))
    assert finding.confidence == "low"


def test_without_a_model_only_the_calls_are_known(made: Handmade) -> None:
    one = made.blocks(made.stack("f@a.c:1"), 16, 24, total=2000, peak=1)
    other = made.blocks(made.stack("g@a.c:2"), 16, 24, total=2000, peak=1)
    made.twins(one, other, pairs=2000, joined_gross=None)
    (finding,) = made.recording().findings(lenses.load("twins"))
    assert finding.bytes_peak is None
    assert finding.shown
    assert "saves no memory at the peak, but 2,000 mallocs" in finding.remedy_in("C++")


def test_the_most_frequent_partner_is_named(made: Handmade) -> None:
    symbols(made, pairs=1000)
    rare = made.blocks(made.stack("note@a.c:3", "main@a.c:9"), 16, 24, total=10, peak=1)
    made.twins(0, rare, pairs=10, joined_gross=48)
    (finding,) = made.recording().findings(lenses.load("twins"))
    assert "copy_text" in finding.remedy_in("C++")
    assert finding.calls == 1000


def test_a_pair_that_takes_more_joined_saves_no_bytes(made: Handmade) -> None:
    one = made.blocks(made.stack("f@a.c:1"), 16, 24, total=2000, peak=1000, end=500)
    other = made.blocks(made.stack("g@a.c:2"), 16, 24, total=2000, peak=1000, end=500)
    made.twins(one, other, pairs=2000, end_pairs=500, joined_gross=80)
    recording = made.recording()
    (finding,) = recording.findings(lenses.load("twins"))
    assert (finding.bytes_peak, finding.bytes_end, finding.bytes_total) == (0, 0, 0)
    assert "saves no memory at the peak, but 2,000 mallocs" in finding.remedy_in("C")
    (totals,) = (each for each in recording.ledger.lens_totals() if each.lens == "twins")
    assert (totals.bytes_peak, totals.bytes_total) == (0, 0)


@pytest.mark.parametrize(
    ("calls", "duration_ms", "runs"), [(400_000, 2000, True), (400_000, 2100, False), (90_000, 1, False)]
)
def test_a_report_runs_it_where_calls_abound(calls: int, duration_ms: int, runs: bool) -> None:
    made = Handmade(duration_ns=duration_ms * 1_000_000)
    made.blocks(made.stack("f@a.c:1"), 16, 24, total=calls, peak=1)
    process = made.process()
    assert process["alloc_events"] == calls
    assert ("twins" in lenses.names_for([], process)) == runs
    assert "twins" not in lenses.names_for([]), "a summary has no time for a second walk"
    recording = Recording(made, lenses.names_for([]))
    assert ("twins" in not_sought(recording).get("tare report", [])) == runs
