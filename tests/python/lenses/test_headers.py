"""Headers: many small blocks pay, few large ones don't."""

from __future__ import annotations

from handmade import Handmade


def test_small_blocks_are_shown_and_large_ones_are_not(made: Handmade) -> None:
    made.blocks(made.stack("node"), 24, 24, total=10_000, peak=10_000)
    made.blocks(made.stack("page"), 4096, 4104, total=100, peak=100)
    ledger = made.recording().ledger
    headers = ledger.lenses[1]
    (finding,) = ledger.findings(headers)
    assert finding.bytes_peak == 80_000
    assert "10,000 blocks of 24 bytes" in finding.remedy_in("C++") and "arena" in finding.remedy_in("C++")
    assert len(ledger.findings(headers, all_claims="all")) == 2


def test_allocators_without_headers_have_no_claims(made: Handmade) -> None:
    made.blocks(made.stack("node"), 24, 32, total=10, peak=10, header=0)
    ledger = made.recording().ledger
    assert ledger.findings(ledger.lenses[1], all_claims="all") == []
