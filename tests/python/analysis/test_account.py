"""The account: parts add up to the peak RSS, bounds never exceed it, and the way to see more fits the program."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.account import Pools, Source, account, way_to_see_more
from tare.reports.account import lines

MIB = 1 << 20


def resident(made: Handmade, peak_rss: int, spool: int = 0) -> None:
    made._process.update(peak_rss_bytes=peak_rss, spool_bytes=spool)


def test_without_a_peak_rss_there_is_no_account(made: Handmade) -> None:
    assert account(made.recording()) is None


def test_without_a_snapshot_blocks_are_an_upper_bound(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), MIB - 8, MIB - 8, total=3, peak=3)
    resident(made, 40 * MIB, 8 * MIB)
    found = account(made.recording())
    assert found is not None
    assert (found.peak_rss_bytes, found.recorder_bytes) == (32 * MIB, 8 * MIB)
    assert [(part.name, part.bytes, part.is_exact) for part in found.parts] == [("blocks", 3 * MIB, False)]
    assert found.unexplained_bytes == 29 * MIB


def test_untouched_blocks_never_exceed_the_peak_rss(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 100 * MIB, 100 * MIB, total=1, peak=1)
    resident(made, 10 * MIB)
    found = account(made.recording())
    assert found is not None
    assert found.parts[0].bytes == 10 * MIB
    assert found.unexplained_bytes == 0
    assert way_to_see_more(made.recording(), found) == ""


@pytest.mark.parametrize(
    ("program", "word"), [("python3.11", "PYTHONMALLOC=malloc"), ("php8.2", "USE_ZEND_ALLOC=0"), ("app", "--snapshots")]
)
def test_the_way_to_see_more_fits_the_program(made: Handmade, program: str, word: str) -> None:
    made.blocks(made.stack("f", "main"), MIB, MIB, total=1, peak=1)
    made._process["program"] = program
    resident(made, 40 * MIB)
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert word in way_to_see_more(recording, found)


def test_snapshots_arent_proposed_to_a_sampled_recording(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), MIB, MIB, total=1, peak=1)
    made._process["sample_bytes"] = 65536
    resident(made, 40 * MIB)
    found = account(made.recording())
    assert found is not None
    assert "without --sample" in way_to_see_more(made.recording(), found)


def test_a_snapshot_divides_the_resident_memory(made: Handmade) -> None:
    shape = made.blocks(made.stack("f", "main"), MIB - 16, MIB - 8, total=4, peak=4)
    made.snapshot("peak", [(shape, 0x10000 + MIB * i, {}) for i in range(4)])
    moment = 1
    made.resident(moment, "heap", 6 * MIB)
    made.resident(moment, "file", 3 * MIB, name="/usr/lib/libc.so.6")
    made.resident(moment, "file", 1 * MIB, name="/usr/bin/app")
    made.resident(moment, "mapping", 9 * MIB)
    made.resident(moment, "recorder", 2 * MIB)
    resident(made, 24 * MIB, 2 * MIB)
    found = account(made.recording())
    assert found is not None
    assert found.source is Source.SNAPSHOT
    assert found.peak_rss_bytes == 22 * MIB
    parts = {part.name: part.bytes for part in found.parts}
    assert parts["files"] == 4 * MIB
    assert parts["own mappings"] == 9 * MIB
    assert parts["blocks"] == 4 * MIB
    assert parts["free in the allocator"] == 2 * MIB
    assert found.unexplained_bytes == 22 * MIB - 19 * MIB


def test_a_snapshot_far_from_the_peak_isnt_used(made: Handmade) -> None:
    shape = made.blocks(made.stack("f", "main"), MIB - 16, MIB - 8, total=20, peak=20)
    made.snapshot("exit", [(shape, 0x10000, {})])
    made.resident(1, "heap", 2 * MIB)
    resident(made, 40 * MIB)
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert found.source is Source.BLOCKS
    assert [(part.name, part.bytes, part.is_exact) for part in found.parts] == [("blocks", 20 * MIB, False)]
    assert "tare snapshot" in way_to_see_more(recording, found)


def read(made: Handmade, **mib: int) -> None:
    made._process.update({f"rss_{name}_bytes": size * MIB for name, size in mib.items()})


def test_a_reading_divides_the_resident_memory(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 8 * MIB, 8 * MIB, total=1, peak=1)
    made.blocks(made.stack("g", "main"), 1008, 1016, total=MIB // 1024, peak=MIB // 1024)
    resident(made, 42 * MIB, 1 * MIB)
    read(made, heap=12, gross=9, mapping=10, mapping_spread=2, file=5, shared=4, stack=1, recorder=2)
    found = account(made.recording())
    assert found is not None
    assert found.source is Source.READING
    assert (found.peak_rss_bytes, found.recorder_bytes) == (40 * MIB, 2 * MIB)
    parts = {part.name: (part.bytes / MIB, part.least_bytes / MIB, part.most_bytes / MIB) for part in found.parts}
    # The program may have touched nothing of the large block. The heap is at least 10 MiB, and at most 14.
    assert parts["blocks"] == pytest.approx((9, 1, 9), abs=0.1)
    assert parts["free in the allocator"] == pytest.approx((3, 1, 13), abs=0.1)
    assert parts["own mappings"] == (10, 8, 12)
    assert parts["files"] == (5, 5, 5)
    assert found.unexplained_bytes == pytest.approx(8 * MIB, abs=100)
    assert way_to_see_more(made.recording(), found) == ""


def test_a_reading_long_before_the_peak_is_said(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 1008, 1016, total=1024, peak=1024)
    resident(made, 100 * MIB)
    read(made, heap=2, gross=1, mapping=50, file=10)
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert found.source is Source.READING
    assert found.unexplained_bytes == 38 * MIB
    assert "after the last reading" in way_to_see_more(recording, found)


def test_blocks_that_came_after_the_reading_are_added(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 1008, 1016, total=9 * 1024, peak=9 * 1024)
    resident(made, 10 * MIB)
    read(made, heap=6, gross=5, file=3)
    found = account(made.recording())
    assert found is not None
    parts = {part.name: part.bytes for part in found.parts}
    assert parts["blocks"] == 6 * MIB  # the peak RSS has room for one more
    assert found.unexplained_bytes == 0


def test_a_reading_after_the_peak_has_the_blocks_of_the_peak(made: Handmade) -> None:
    """Blocks were freed since, but the allocator kept their pages: not free memory of the peak."""
    made.blocks(made.stack("f", "main"), MIB - 8, MIB - 8, total=212, peak=212)
    resident(made, 221 * MIB)
    read(made, gross=77, heap=213, file=8)
    made._process.update(program="python3.11", rss_read_ns=1_500_000_000)
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert {part.name: part.bytes // MIB for part in found.parts} == {
        "blocks": 212,
        "free in the allocator": 1,
        "files": 8,
    }
    assert way_to_see_more(recording, found) == ""


def test_a_switch_isnt_proposed_to_a_program_that_maps_nothing(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), MIB - 8, MIB - 8, total=50, peak=50)
    resident(made, 221 * MIB)
    read(made, gross=50, heap=213, file=8)
    made._process.update(program="python3.11")
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert "PYTHONMALLOC" not in way_to_see_more(recording, found)


def test_a_snapshot_is_preferred_to_a_reading_that_is_as_near(made: Handmade) -> None:
    shape = made.blocks(made.stack("f", "main"), MIB - 16, MIB - 8, total=9, peak=9)
    made.snapshot("peak", [(shape, 0x10000, {})])
    made.resident(1, "heap", 9 * MIB)
    resident(made, 10 * MIB)
    read(made, heap=9, gross=9)
    found = account(made.recording())
    assert found is not None
    assert found.source is Source.SNAPSHOT
    read(made, heap=10, gross=9)
    found = account(made.recording())
    assert found is not None
    assert found.source is Source.READING


def test_mappings_made_after_the_reading_may_be_the_rest(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 1008, 1016, total=1024, peak=1024)
    resident(made, 100 * MIB)
    read(made, heap=2, gross=1, mapping=50, file=10)
    made._process["rss_read_ns"] = 500
    for time_ns, mapped in ((400, 60), (700, 85), (900, 70)):
        made.tables["timeline"].append({"time_ns": time_ns, "mapped_bytes": mapped * MIB})
    found = account(made.recording())
    assert found is not None
    parts = {part.name: (part.bytes / MIB, part.least_bytes / MIB, part.most_bytes / MIB) for part in found.parts}
    assert parts["own mappings"] == (75, 50, 75)
    assert found.unexplained_bytes == 13 * MIB


def test_mappings_unmapped_before_the_reading_may_be_the_rest(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 1008, 1016, total=1024, peak=1024)
    resident(made, 100 * MIB)
    read(made, heap=2, gross=1, mapping=50, file=10)
    made._process["rss_read_ns"] = 500
    for time_ns, mapped in ((200, 70), (300, 79), (400, 55), (600, 40)):
        made.tables["timeline"].append({"time_ns": time_ns, "mapped_bytes": mapped * MIB})
    found = account(made.recording())
    assert found is not None
    parts = {part.name: (part.bytes / MIB, part.least_bytes / MIB, part.most_bytes / MIB) for part in found.parts}
    assert parts["own mappings"] == (74, 50, 74)
    assert found.unexplained_bytes == 14 * MIB


def test_free_memory_of_pools_is_a_part(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 1008, 1016, total=5 * 1024, peak=5 * 1024)
    made.blocks(made.stack("g", "main"), 4096, 4096, total=768, peak=512, header=0, api="pool block")
    made.blocks(made.stack("h", "main"), 4096, 8184, total=128, peak=128, api="pool memory")
    resident(made, 12 * MIB)
    read(made, heap=9, gross=8, file=3)
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert found.pools == Pools(2 * MIB, 128 * 8184)
    assert found.pools.held_bytes == 2 * MIB + 128 * 8184
    parts = {part.name: (part.bytes, part.least_bytes, part.most_bytes) for part in found.parts}
    assert parts["free in pools"] == (128 * 8184, 0, 128 * 8184)
    assert parts["blocks"][0] == 8 * MIB - 128 * 8184
    assert parts["free in the allocator"][0] == 1 * MIB
    assert found.unexplained_bytes == 0
    text = " ".join(" ".join(lines(recording, 200)).split())
    assert "free in pools at most 1.00 MiB (8.3%)" in text
    assert "pools held 3.00 MiB at the heap's peak: 2.00 MiB in blocks, 1.00 MiB free or headers" in text


def test_a_program_without_pools_has_no_line_about_them(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 1008, 1016, total=1024, peak=1024)
    resident(made, 12 * MIB)
    read(made, heap=2, gross=1, file=3)
    recording = made.recording()
    found = account(recording)
    assert found is not None
    assert found.pools is None
    assert "pools" not in " ".join(lines(recording, 200))


def test_a_peak_before_the_recording_had_no_recorder(made: Handmade) -> None:
    shape = made.blocks(made.stack("f", "main"), MIB - 16, MIB - 8, total=4, peak=4)
    made.snapshot("peak", [(shape, 0x10000 + MIB * i, {}) for i in range(4)])
    made.resident(1, "heap", 6 * MIB)
    made.resident(1, "recorder", 2 * MIB)
    resident(made, 24 * MIB, 2 * MIB)
    made._process["paused_ns"] = 1
    for earlier, expected in ((23 * MIB, (22 * MIB, False)), (24 * MIB, (24 * MIB, True))):
        made._process["earlier_peak_rss_bytes"] = earlier
        found = account(made.recording())
        assert found is not None
        assert (found.peak_rss_bytes, found.is_earlier) == expected
        assert found.recorder_bytes == 24 * MIB - expected[0]
