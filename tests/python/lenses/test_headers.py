"""Headers: many small blocks pay, few large ones don't."""

from __future__ import annotations

from handmade import Handmade
from tare import lenses


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


def test_many_sizes_that_come_and_go_predict_no_gain() -> None:
    """Texts of perl, ctags and swig: the proofs had a higher peak."""
    for sizes, total, gains in ((20, 1500, True), (20, 3000, False), (3, 3000, True)):
        other = Handmade()
        stack = other.stack("copy@a.c:1", "main")
        for number in range(sizes):
            other.blocks(stack, 16 + 8 * number, 24 + 8 * number, total=total, peak=1000)
        (finding,) = other.recording().ledger.findings(lenses.load("headers"))
        assert bool(finding.saving.peak_bytes) is gains, (sizes, total)
        assert ("the gain is unknown" in finding.remedy_in("C")) is not gains


def test_slabs_of_each_size_cost_a_page() -> None:
    """Three sizes that share a cell of 24 bytes cost one page, and three cells cost three."""
    for requests, cells in (((17, 20, 24), 1), ((24, 40, 56), 3)):
        other = Handmade()
        stack = other.stack("copy@a.c:1", "main")
        for requested in requests:
            other.blocks(stack, requested, requested + (8 - requested % 8) % 8, total=1000, peak=1000)
        (finding,) = other.recording().ledger.findings(lenses.load("headers"))
        assert finding.saving.peak_bytes == 3 * 8 * 1000 - 4096 * cells
