"""Leaks: direct ones, and what hangs on them."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.ledger import Finding


def test_what_hangs_on_a_leak_is_told_where_the_leak_is(made: Handmade) -> None:
    heads = made.blocks(made.stack("new_list@a.c:1"), 56, 56, total=10, peak=10, end=10)
    nodes = made.blocks(made.stack("new_node@a.c:9"), 120, 120, total=1000, peak=1000, end=1000)
    blocks = [(heads, 1 << 20 | i << 8, {"lost": True}) for i in range(10)]
    blocks += [(nodes, 2 << 20 | i << 8, {"lost": True, "leak_root": 1 << 20}) for i in range(900)]
    blocks += [(nodes, 3 << 20 | i << 8, {}) for i in range(100)]
    made.snapshot("exit", blocks)
    recording = made.recording()
    (finding,) = recording.ledger.findings(lenses.load("leaks"))
    assert recording.names.stack(1, 8)[0].function == "new_list"
    assert finding.site_id == recording.database.row("select site_id from stack_sites where stack_id = 1")[0]
    assert finding.bytes_end == 10 * 64 + 900 * 128
    assert all(part in finding.remedy_in("C++") for part in ("10 blocks", "100% of", "900 blocks"))
    assert recording.moments["end"].tare_bytes >= finding.bytes_end


def test_leaks_come_before_duplicates_and_no_byte_counts_twice(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=100, peak=100, end=100)
    made.snapshot("exit", [(shape, 4096 + 208 * i, {"lost": i < 50, "digest": 1}) for i in range(100)])
    ledger = made.recording().ledger
    granted = {totals.lens: totals.bytes_end for totals in ledger.lens_totals()}
    assert granted["leaks"] == 50 * 208
    assert granted["duplicates"] == 50 * 208  # of 99 claimed
    assert granted["headers"] == 0


@pytest.mark.parametrize("lens", ["leaks", "duplicates"])
def test_they_run_only_where_blocks_were_looked_into(made: Handmade, lens: str) -> None:
    made.blocks(made.stack("copy@a.c:1"), 200, 200, total=100, peak=100, end=100)
    assert lens not in [each.name for each in made.recording().ledger.lenses]


def test_they_dont_run_on_samples() -> None:
    made = Handmade(sample_bytes=4096)
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=100, peak=100, end=100)
    made.snapshot("exit", [(shape, 4096, {})])
    assert "leaks" not in [each.name for each in made.recording().ledger.lenses]


def in_both(made: Handmade, lost_near_peak: int, last_write_ns: int | None) -> Finding:
    """100 blocks of 200 bytes, all of them lost at the exit; unchanged since then."""
    shape = made.blocks(made.stack("new_text@a.c:1"), 200, 200, total=100, peak=100, end=100)
    made.snapshot("peak", [(shape, 4096 + 208 * i, {"lost": i < lost_near_peak}) for i in range(100)])
    made.snapshot("exit", [(shape, 4096 + 208 * i, {"lost": True, "last_write_ns": last_write_ns}) for i in range(100)])
    (finding,) = made.recording().findings(lenses.load("leaks"))
    assert finding.bytes_end == 100 * 208
    assert finding.saving.peak_bytes == lost_near_peak * 208
    return finding


def test_blocks_lost_after_the_peak_are_no_gain_at_the_peak(made: Handmade) -> None:
    found = in_both(made, 0, 500_000_000)
    assert found.confidence == "low"
    assert "near the peak one led to 100 of the 100 blocks" in found.remedy_in("C")


def test_blocks_lost_before_the_peak_are_leaks(made: Handmade) -> None:
    found = in_both(made, 90, 500_000_000)
    assert found.confidence == "high"
    assert "no pointer leads to 100 blocks" in found.remedy_in("C")


@pytest.mark.parametrize("last_write_ns", [None, 2_000_000_000])
def test_blocks_made_or_changed_after_the_peak_are_leaks(made: Handmade, last_write_ns: int | None) -> None:
    assert in_both(made, 0, last_write_ns).confidence == "high"


@pytest.mark.parametrize(("unmapped", "torn"), [(9_000_000, True), (1000, False)])
def test_a_snapshot_within_a_teardown_proves_nothing(made: Handmade, unmapped: int, torn: bool) -> None:
    shape = made.blocks(made.stack("new_text@a.c:1"), 200, 200, total=100, peak=100, end=100)
    made.snapshot("peak", [(shape, 4096 + 208 * i, {"lost": i < 90}) for i in range(100)])
    made.tables["snapshots"][0]["time_ns"] = 1_200_000_000  # the peak was at 1.0 s
    made.snapshot("exit", [(shape, 4096 + 208 * i, {"lost": True, "last_write_ns": 0}) for i in range(100)])
    for time_ns, mapped in ((900_000_000, 40 << 20), (1_050_000_000, 20 << 20), (1_190_000_000, (20 << 20) - unmapped)):
        made.tables["timeline"].append({"time_ns": time_ns, "mapped_bytes": mapped})
    (finding,) = made.recording().findings(lenses.load("leaks"))
    assert finding.confidence == ("low" if torn else "high")
    assert (finding.saving.peak_bytes is None) is torn
    assert ("8.58 MiB of mappings were unmapped" in finding.remedy_in("C")) is torn
