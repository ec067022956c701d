"""Worth: what findings save, priced, and one list of them in which nothing counts twice."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import Handmade
from tare.analysis import worth
from tare.analysis.prices import PAGE_BYTES, PAGE_NS
from tare.analysis.recording import Recording
from tare.analysis.worth import Entry, Ranking
from tare.lenses.call_price import FREE_NS, MALLOC_NS, MOVING_REALLOC_NS, REALLOC_NS, TIMER_NS
from tare.reports import do_first


def ranked(made: Handmade) -> tuple[Recording, Ranking]:
    recording = made.recording()
    return recording, worth.ranking(recording)


def named(recording: Recording, entries: list[Entry]) -> dict[str, Entry]:
    frames = recording.finding_frames([each.finding for each in entries])
    return {frame.function: entry for frame, entry in zip(frames, entries, strict=True)}


def churning(made: Handmade, calls: int, **more: Any) -> int:
    stack = made.stack("format@/src/format.c:30", "main")
    made.blocks(stack, 40, 40, total=calls, freed_within_16=calls, freed_later=0, **more)
    return stack


def timed(made: Handmade, stack: int, calls: int, ns: float, free_ns: float) -> None:
    made.tables["call_costs"].append(
        {"stack_id": stack, "calls": calls, "ns": calls * ns, "max_ns": ns, "winsorized_ns": calls * ns, "free_calls": calls,
         "free_ns": calls * free_ns, "max_free_ns": free_ns, "winsorized_free_ns": calls * free_ns}
    )  # fmt: skip


def test_calls_are_priced_by_the_timed_ones_of_the_site(made: Handmade) -> None:
    timed(made, churning(made, 1_000_000), 20, 90, 30)
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.worth.gain_cpu_ns == pytest.approx(1_000_000 * (120 - 2 * TIMER_NS))
    assert "20 timed calls of this site" in entry.worth.evidence


def test_a_site_without_timed_calls_has_the_price_of_its_kind(made: Handmade) -> None:
    churning(made, 1_000_000, api="calloc")
    other = made.stack("other", "main")
    zeroed = made.stack("zeroed", "main")
    made.blocks(other, 8, 24, total=10, peak=0)
    made.blocks(zeroed, 8, 24, total=10, peak=0, api="calloc")
    timed(made, other, 20, 30, 30)
    timed(made, zeroed, 20, 200, 30)
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.worth.gain_cpu_ns == pytest.approx(1_000_000 * (230 - 2 * TIMER_NS))
    assert "20 timed calls of this run on average" in entry.worth.evidence


def test_a_call_here_and_there_prices_no_other_site(made: Handmade) -> None:
    """Of dot, one of 19 timed frees took 13 us."""
    churning(made, 5_000_000)
    for number in range(8):
        site = made.stack(f"other{number}", "main")
        made.blocks(site, 8, 24, total=10, peak=0)
        timed(made, site, 7, 2000, 2000)
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.worth.gain_cpu_ns == pytest.approx(5_000_000 * (MALLOC_NS + FREE_NS))
    assert "bench" in entry.worth.evidence


def test_without_timed_calls_the_prices_of_the_bench_count(made: Handmade) -> None:
    churning(made, 5_000_000)
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.worth.gain_cpu_ns == pytest.approx(5_000_000 * (MALLOC_NS + FREE_NS))
    assert "bench" in entry.worth.evidence


def test_gains_below_one_percent_come_after(made: Handmade) -> None:
    churning(made, 20_000)  # 0.2 ms of 2 s
    _, found = ranked(made)
    assert not found.first
    assert [entry.lenses for entry in found.rest] == [("churn",)]


def test_all_lenses_are_in_one_order(busy: Handmade) -> None:
    recording, found = ranked(busy)
    assert list(named(recording, found.first)) == ["arena_grow", "new_node"]
    assert {"append", "format"} <= set(named(recording, found.rest))


def test_headers_and_slop_of_the_same_blocks_are_one_gain(made: Handmade) -> None:
    stack = made.stack("node", "main")
    made.blocks(stack, 33, 56, total=10_000, peak=10_000)
    made.size_class(33, 56, 24, clownshoe=1)
    recording, found = ranked(made)
    (entry,) = found.first
    assert set(entry.lenses) == {"slop", "headers"}
    # 64 bytes of a block are gross; an arena needs 40 of them for 33, and a page for the size
    assert entry.worth.gain_peak_bytes == 10_000 * 24 - PAGE_BYTES
    assert recording.ledger.tare_bytes()[0] == 10_000 * (23 + 8)


def test_an_arena_saves_the_calls_and_the_first_writes_to_pages(made: Handmade) -> None:
    made.blocks(made.stack("node", "main"), 24, 24, total=2_000_000, peak=40_000, end=500_000)
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.lenses == ("headers",)
    faults_ns = (40_000 * 8 / PAGE_BYTES - 1) * PAGE_NS
    assert entry.worth.gain_cpu_ns == pytest.approx(2_000_000 * MALLOC_NS + 1_500_000 * FREE_NS + faults_ns)
    assert "77 first writes to pages, with their release, at 1.59 us (a bench)" in entry.worth.evidence


def test_bytes_that_never_were_resident_save_no_first_writes(made: Handmade) -> None:
    mib = 1 << 20
    shape = made.blocks(made.stack("lose", "main"), mib, mib, total=16, peak=16, end=16)
    made.snapshot("exit", [(shape, 0x10000 + mib * i, {"lost": True}) for i in range(16)])
    made.tables["snapshots"][0]["absent_bytes"] = 14 * mib
    made.resident(1, "heap", 2 * mib)
    made._process.update({"peak_rss_bytes": 2 * mib, "spool_bytes": 0})
    _, found = ranked(made)
    (entry,) = [each for each in found.first if each.lenses[0] == "leaks"]
    assert entry.worth.gain_peak_bytes == 2 * mib
    assert entry.worth.gain_cpu_ns == pytest.approx(512 * PAGE_NS)


def test_the_gain_of_a_site_is_never_more_than_its_blocks(looked_into: Handmade) -> None:
    recording = looked_into.with_contents().recording()
    found = worth.ranking(recording)
    gross = dict(
        recording.database.rows(
            "select t.site_location_id, sum((z.usable_bytes + z.header_bytes) * z.peak_blocks) from site_sizes z"
            " join stack_sites s on s.stack_id = z.stack_id join sites t on t.site_id = s.site_id group by t.site_location_id"
        )
    )
    entries = [*found.first, *found.rest]
    assert len({entry.finding.site_location_id for entry in entries}) == len(entries)
    for entry in entries:
        assert (entry.worth.gain_peak_bytes or 0) <= gross[entry.finding.site_location_id]


def test_untouched_pages_return_no_rss(made: Handmade) -> None:
    stack = made.stack("open_buffer", "main")
    shape = made.blocks(stack, 1 << 20, 1 << 20, total=20, peak=20, header=16)
    made.tables["written"].append(
        {"size_id": shape, "stack_id": stack, "requested_bytes": 1 << 20, "ended_blocks": 20.0, "partly_blocks": 20.0,
         "max_high_water_bytes": 4096, "unwritten_peak_bytes": 20.0 * ((1 << 20) - 4096), "unwritten_total_bytes": 20.0 * ((1 << 20) - 4096),
         "unwritten_pages": 20.0 * 255, "within_4096": 20.0, "narrow_blocks": 20.0, "site_blocks": 20.0, "site_narrow_blocks": 20.0, "site_high_water_bytes": 4096,
         "site_requested_bytes": 1 << 20}
    )  # fmt: skip
    _, found = ranked(made.with_contents())
    (entry,) = [each for each in [*found.first, *found.rest] if each.lenses[0] == "unwritten"]
    assert entry.worth.gain_peak_bytes == 0
    assert "never touched and return no RSS" in entry.worth.evidence
    assert entry in found.rest


def test_no_gain_is_larger_than_the_resident_part_of_the_blocks(made: Handmade) -> None:
    """16 leaked blocks of 8 MiB of which the program touched a page each: 128 MiB gross in 6 MiB of RSS, 4 of them in blocks."""
    mib = 1 << 20
    shape = made.blocks(made.stack("lose", "main"), 8 * mib, 8 * mib, total=16, peak=16, end=16)
    made.snapshot("exit", [(shape, 0x10000 + 8 * mib * i, {"lost": True}) for i in range(16)])
    made.tables["snapshots"][0]["absent_bytes"] = 124 * mib
    made.resident(1, "heap", 4 * mib)
    made.resident(1, "file", 2 * mib, name="/bin/app")
    made._process.update({"peak_rss_bytes": 6 * mib, "spool_bytes": 0})
    recording, found = ranked(made)
    (entry,) = [each for each in found.first if each.lenses[0] == "leaks"]
    assert entry.worth.gain_peak_bytes == 4 * mib
    assert entry.worth.is_bound and not entry.worth.peak_exact
    assert "4.00 MiB of all blocks were resident" in entry.worth.evidence
    assert do_first.gains(entry, found.whole).startswith("RSS ≤66.7%")
    for lens in recording.ledger.lenses:
        for finding in recording.findings(lens):
            assert (worth.worth_of(recording, finding, found.whole).gain_peak_bytes or 0) <= 4 * mib


def test_a_snapshot_after_the_peak_bounds_no_gain_by_the_blocks_that_are_left(made: Handmade) -> None:
    """63 of 64 blocks of 64 KiB were freed before the snapshot of the resident memory: all of it is free by then."""
    kib = 1024
    shape = made.blocks(made.stack("keep", "main"), 64 * kib, 64 * kib, total=65, peak=64, end=1)
    made.snapshot("exit", [(shape, 0x100000, {"lost": True})])
    made.resident(1, "heap", 4096 * kib)
    made.resident(1, "file", 512 * kib, name="/bin/app")
    made._process.update({"peak_rss_bytes": 4608 * kib, "spool_bytes": 0})
    whole = worth.whole_of(made.recording())
    assert whole.block_bytes == 4096 * kib


def test_remapped_blocks_arent_priced_as_copied(made: Handmade) -> None:
    stack = made.stack("append", "main")
    made.blocks(stack, 100, 104, total=2000, peak=1)
    made.chain(
        stack, grown_blocks=1, steps=1998, slow_steps=1990, in_place_steps=0, copied_bytes=10 << 30, doubling_copied_bytes=20_000,
        requested_bytes=12 << 30, max_requested_bytes=10 << 20,
    )  # fmt: skip
    recording = made.recording()
    (growth,) = recording.findings(next(lens for lens in recording.ledger.lenses if lens.name == "growth"))
    assert 0 < growth.saving.copied_bytes < (10 << 30) / 1000


def test_steps_of_growth_arent_churn(made: Handmade) -> None:
    stack = made.stack("append", "main")
    made.blocks(stack, 100, 104, total=4_000_000, peak=1, freed_within_16=4_000_000, api="realloc")
    made.chain(
        stack, grown_blocks=1, steps=3_999_999, slow_steps=3_999_990, in_place_steps=3_999_000, requested_bytes=12 << 30, max_requested_bytes=32_000
    )  # fmt: skip
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.lenses == ("growth",)
    assert entry.worth.gain_cpu_ns == pytest.approx(3_999_000 * REALLOC_NS + 999 * MOVING_REALLOC_NS, rel=0.01)


def test_steps_that_move_cost_more_than_steps_in_place(made: Handmade) -> None:
    stack = made.stack("append", "main")
    made.blocks(stack, 100, 104, total=4_000_000, peak=1, api="realloc")
    made.chain(
        stack, grown_blocks=1, steps=3_999_999, slow_steps=3_999_990, in_place_steps=0, copied_bytes=400_000_000, requested_bytes=12 << 30,
        max_requested_bytes=32_000,
    )  # fmt: skip
    _, found = ranked(made)
    (entry,) = found.first
    assert entry.worth.gain_cpu_ns is not None
    assert entry.worth.gain_cpu_ns > 4_000_000 * MOVING_REALLOC_NS


def test_a_site_of_few_samples_is_no_finding() -> None:
    for samples, expected in ((4.0, 0), (25.0, 1)):
        made = Handmade(sample_bytes=524_288)
        made.blocks(made.stack("node", "main"), 24, 24, total=2730 * samples, peak=2730 * samples, weight=2730.0)
        _, found = ranked(made)
        assert len(found.first) == expected, samples
        assert all(entry.finding.samples == samples and not entry.worth.peak_exact for entry in found.first)
