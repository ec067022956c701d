"""The error of a sampled peak: by the weights of its blocks."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.sampling_error import peak_error
from tare.reports.text_parts import headline


def sampled(blocks: float, weight: float) -> Handmade:
    made = Handmade(sample_bytes=524288)
    made.blocks(made.stack("f"), 1000, 1000, total=blocks, peak=blocks, weight=weight)
    return made


@pytest.mark.parametrize(("recorded", "weight", "error"), [(100, 500, 0.0999), (5, 500, 0.4468), (100, 1, 0.0)])
def test_it_falls_with_the_root_of_the_recorded_blocks(recorded: int, weight: float, error: float) -> None:
    recording = sampled(recorded * weight, weight).recording()
    assert peak_error(recording) == pytest.approx(error, abs=1e-4)
    assert f"the peak has a standard error of {100 * error:.1f}%" in headline(recording)


def test_a_recording_of_every_block_has_none(made: Handmade) -> None:
    made.blocks(made.stack("f"), 1000, 1000, total=5, peak=5)
    assert peak_error(made.recording()) is None
    assert "error" not in headline(made.recording())
    assert peak_error(Handmade(sample_bytes=524288).recording()) is None
