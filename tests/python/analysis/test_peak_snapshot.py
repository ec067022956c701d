"""The snapshot that stands for the peak: the one with most of the peak's blocks."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.peak_snapshot import PeakSnapshot


def taken(made: Handmade, at_peak: int, at_exit: int, others_at_exit: int = 0) -> PeakSnapshot:
    """Of 100 blocks at the peak, so many in each snapshot; `others_at_exit`: blocks that the peak doesn't have."""
    shape = made.blocks(made.stack("f@a.c:1"), 1000, 1008, total=100, peak=100, end=at_exit)
    other = made.blocks(made.stack("g@a.c:2"), 1000, 1008, total=others_at_exit, peak=0, end=others_at_exit)
    made.snapshot("peak", [(shape, 4096 + 1016 * i, {"digest": 1}) for i in range(at_peak)])
    made.tables["snapshots"][0]["time_ns"] = 900_000_000
    blocks = [shape] * at_exit + [other] * others_at_exit
    made.snapshot("exit", [(each, 4096 + 1016 * i, {"digest": 1}) for i, each in enumerate(blocks)])
    found = made.recording().snapshot
    assert found is not None
    return found


def test_the_distance_from_the_peak_is_said(made: Handmade) -> None:
    said = taken(made, 90, 10).sentence
    assert "a snapshot 0.10 s before the peak" in said
    assert "90.0% of its gross" in said


@pytest.mark.parametrize(("at_peak", "at_exit", "kind"), [(10, 100, "exit"), (97, 100, "peak"), (91, 9, "peak")])
def test_it_is_the_one_with_most_of_the_peaks_blocks(made: Handmade, at_peak: int, at_exit: int, kind: str) -> None:
    found = taken(made, at_peak, at_exit)
    assert found.kind == kind
    assert found.share == max(at_peak, at_exit if kind == "exit" else 0) / 100


def test_blocks_that_the_peak_has_not_do_not_count(made: Handmade) -> None:
    found = taken(made, 50, 40, others_at_exit=60)
    assert (found.kind, found.share) == ("peak", 0.5)


def test_lenses_read_it(made: Handmade) -> None:
    taken(made, 10, 100)
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"))
    assert "100 blocks hold 1 content" in finding.remedy_in("C")
    assert not finding.at_least


def test_a_candidate_without_any_of_its_blocks_is_still_one(made: Handmade) -> None:
    found = taken(made, 0, 0)
    assert (found.kind, found.share) == ("peak", 0)
