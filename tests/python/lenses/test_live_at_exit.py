"""Live at exit: what stands at the end, with how much of it was ever freed."""

from __future__ import annotations

from handmade import Handmade


def test_what_stands_is_shown_by_its_bytes(made: Handmade) -> None:
    made.blocks(made.stack("cache", "main"), 992, 992, total=1000, peak=900, end=900)
    made.blocks(made.stack("global", "main"), 92, 92, total=1, peak=1, end=1)
    made.blocks(made.stack("temporary", "main"), 92, 92, total=100, peak=1)
    ledger = made.recording().ledger
    (finding,) = ledger.findings(next(lens for lens in ledger.lenses if lens.name == "live-at-exit"))
    assert finding.bytes_end == 900_000
    assert "900 blocks" in finding.remedy and "90%" in finding.remedy
    assert finding.confidence == "medium"
