"""Unwritten: a maximum over all blocks of a site, with the size that would have served."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import Handmade
from tare.analysis.ledger import Finding
from tare.analysis.recording import Recording
from tare.errors import TareError
from tare.lenses import check_runnable, load


@pytest.fixture
def seen() -> Handmade:
    """An empty recording with contents, to fill."""
    return Handmade().with_contents()


def partly(made: Handmade, shape: int, mark: int, total: float, **columns: Any) -> None:
    row = made.tables["site_sizes"][shape]
    made.tables["written"].append(
        {
            "size_id": shape,
            "stack_id": row["stack_id"],
            "requested_bytes": row["requested_bytes"],
            "ended_blocks": row["total_blocks"],
            "partly_blocks": row["total_blocks"],
            "max_high_water_bytes": mark,
            "unwritten_total_bytes": total,
            "site_blocks": row["total_blocks"],
            "site_narrow_blocks": row["total_blocks"] if mark < 0.6 * row["requested_bytes"] else 0,
            "site_high_water_bytes": mark,
            "site_requested_bytes": row["requested_bytes"],
            **columns,
        }
    )


def findings(made: Handmade) -> list[Finding]:
    ledger = made.recording().ledger
    return ledger.findings(next(lens for lens in ledger.lenses if lens.name == "unwritten"))


def test_small_marks_go_inline(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("range_query", "main"), 4064, 4072, total=1964)
    partly(seen, shape, 16, 4048 * 1964.0, within_0=200, within_16=1764, unwritten_pages=0)
    (finding,) = findings(seen)
    assert "16 bytes in the object or on the stack" in finding.remedy_in("C++")
    assert "16 of 4,064 bytes are written (10% wrote nothing, 90% within 16)" in finding.remedy_in("C++")
    assert "1,964 mallocs and frees" in finding.remedy_in("C++")
    assert (finding.bytes_peak, finding.bytes_total, finding.confidence) == (0, 4048 * 1964, "high")


def test_one_byte_is_one(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("SetBuffered", "main"), 8192, 8200, total=1000)
    partly(seen, shape, 1, 8e6, within_16=1000)
    (finding,) = findings(seen)
    assert " 1 byte in the object" in finding.remedy_in("C++")


def test_what_lived_at_the_peak_is_tare(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("window", "main"), 32768, 32776, total=100, peak=10)
    partly(seen, shape, 4096, 2.8e6, unwritten_peak_bytes=280_000, within_4096=100)
    recording = seen.recording()
    assert recording.ledger.tare_bytes()[0] >= 280_000
    (finding,) = findings(seen)
    assert "4,096 bytes first and grow" in finding.remedy_in("C++")
    assert finding.bytes_peak == 280_000


def test_never_written_at_all_is_allocated_lazily(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("spare", "main"), 8192, 8200, total=1000)
    partly(seen, shape, 100, 8e6, within_0=950, within_128=50, unwritten_pages=1000)
    (finding,) = findings(seen)
    assert "at its first write" in finding.remedy_in("C++")
    assert "1,000 first writes to pages" in finding.remedy_in("C++")


def test_a_site_with_many_blocks_written_to_their_end_is_no_finding_but_tare(seen: Handmade) -> None:
    stack = seen.stack("buffer", "main")
    shape = seen.blocks(stack, 4096, 4104, total=1000, peak=10)
    partly(
        seen, shape, 10, 4e6, within_16=1000, unwritten_peak_bytes=40_000, site_blocks=1100.0, site_narrow_blocks=1000.0
    )
    assert not findings(seen)
    assert seen.recording().ledger.tare_bytes()[0] >= 40_000


def test_a_few_blocks_are_chance(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("once", "main"), 60_000, 60_008, total=9)
    partly(seen, shape, 10, 3e7, within_16=9)
    assert not findings(seen)


def test_blocks_that_never_ended_say_nothing(seen: Handmade) -> None:
    seen.blocks(seen.stack("kept", "main"), 4096, 4104, total=1000, peak=1000, end=1000)
    assert not findings(seen)


def test_zeros_of_calloc_are_never_tare(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("table", "main"), 4096, 4104, total=1000, peak=100, api="calloc")
    partly(seen, shape, 100, 4e6, unwritten_peak_bytes=400_000, within_128=1000)
    (finding,) = findings(seen)
    assert finding.bytes_peak == 0
    assert finding.confidence == "low"
    assert "calloc" in finding.remedy_in("C++")


def test_it_runs_only_where_contents_were_recorded(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 4096, 4104, total=1000)
    recording: Recording = made.recording()
    assert {lens.name for lens in recording.ledger.lenses}.isdisjoint({"unwritten", "recreated"})
    with pytest.raises(TareError, match=r"tare run --content"):
        check_runnable(load("unwritten"), recording.process)


def test_a_few_full_blocks_hide_nothing(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("jvp_array_alloc", "main"), 272, 280, total=1000, peak=1000)
    partly(
        seen,
        shape,
        272,
        200_000.0,
        unwritten_peak_bytes=200_000.0,
        within_64=950,
        within_512=50,
        site_narrow_blocks=950,
        narrow_blocks=950,
    )
    (finding,) = findings(seen)
    assert "at most 163 of 272 bytes are written in 95% of the blocks, 272 in the fullest" in finding.remedy_in("C++")


def test_less_than_95_of_a_hundred_arent_enough(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("jvp_array_alloc", "main"), 272, 280, total=1000, peak=1000)
    partly(
        seen,
        shape,
        272,
        200_000.0,
        unwritten_peak_bytes=200_000.0,
        within_64=949,
        within_512=51,
        site_narrow_blocks=949,
        narrow_blocks=949,
    )
    assert findings(seen) == []


def test_one_large_block_is_enough(seen: Handmade) -> None:
    shape = seen.blocks(seen.stack("make_arena", "main"), 1 << 20, (1 << 20) + 8, total=1, peak=1)
    partly(seen, shape, 4096, 1044480.0, unwritten_peak_bytes=1044480.0, within_4096=1)
    (finding,) = findings(seen)
    assert "4,096" in finding.remedy_in("C++")


def test_the_pool_that_libstdcpp_reserves_isnt_named(seen: Handmade) -> None:
    """Its 72,704 bytes were the first finding of unwritten in node."""
    shape = seen.blocks(seen.stack("_GLOBAL__sub_I_eh_alloc.cc", "main"), 72_704, 72_712, total=1, peak=1)
    partly(seen, shape, 3, 72_701, within_16=1, unwritten_peak_bytes=72_701)
    assert findings(seen) == []
    shape = seen.blocks(seen.stack("reserve", "main"), 72_704, 72_712, total=2, peak=2)
    partly(seen, shape, 3, 145_402, within_16=2, unwritten_peak_bytes=145_402)
    assert len(findings(seen)) == 1


def _arrays(made: Handmade, narrow: float, other: float, other_narrow: float) -> None:
    """Arrays of 64 bytes at one line, of two sites: in the first one 99 % use half of them."""
    first = made.blocks(made.stack("array", "parse", "main"), 64, 72, total=narrow, peak=narrow)
    second = made.blocks(made.stack("array", "parse", "nested"), 64, 72, total=other, peak=other)
    in_first, in_second = narrow * 0.99, other_narrow
    partly(
        made, first, 64, 40.0 * in_first, within_16=in_first - 1000, within_32=1000, narrow_blocks=in_first,
        unwritten_peak_bytes=40.0 * in_first, site_narrow_blocks=in_first,
    )  # fmt: skip
    partly(
        made, second, 64, 40.0 * in_second, within_32=in_second, within_48=1000, narrow_blocks=in_second,
        unwritten_peak_bytes=40.0 * in_second, site_narrow_blocks=in_second,
    )  # fmt: skip


def _by_line(made: Handmade) -> Finding:
    ledger = made.recording().ledger
    lens = next(lens for lens in ledger.lenses if lens.name == "unwritten")
    return next(each for each in ledger.findings(lens, by="site_location_id") if each.shown)


def test_the_gain_is_that_of_a_first_size_that_serves_most(seen: Handmade) -> None:
    """jansson: arrays with 8 places got 4. The bytes never written were 8.2 MiB, and the measured gain was 6.2 MiB."""
    shape = seen.blocks(seen.stack("array", "main"), 64, 72, total=100_000, peak=100_000)
    partly(
        seen, shape, 64, 4.4e6, within_16=58_000, within_32=38_000, within_48=1000, narrow_blocks=96_000,
        unwritten_peak_bytes=4.4e6, site_narrow_blocks=96_000,
    )  # fmt: skip
    (finding,) = findings(seen)
    assert finding.saving.peak_bytes == pytest.approx(96_000 * 32)
    assert "58% within 16, 38% within 32, 1% within 48, 3% beyond)" in finding.remedy_in("C")
    assert "in 96% of the blocks, 64 in the fullest" in finding.remedy_in("C")


def test_other_sites_of_the_line_change_with_it(seen: Handmade) -> None:
    _arrays(seen, 174_000, 42_000, 31_000)
    finding = _by_line(seen)
    assert finding.saving.peak_bytes == pytest.approx((174_000 * 0.99 + 31_000) * 32)


def test_a_line_with_many_full_blocks_changes_only_where_they_are_few(seen: Handmade) -> None:
    _arrays(seen, 174_000, 82_000, 31_000)
    assert _by_line(seen).saving.peak_bytes == pytest.approx(174_000 * 0.99 * 40), "16 bytes serve those of the first"


def test_pages_that_were_never_touched_are_those_of_the_peaks_blocks(seen: Handmade) -> None:
    """nasm's wrapper of malloc made many small blocks that soon ended, and large ones that lived at the peak."""
    stack = seen.stack("nasm_malloc", "main")
    small = seen.blocks(stack, 1024, 1032, total=10_000)
    large = seen.blocks(stack, 65_536, 65_544, total=10, peak=10)
    partly(seen, small, 16, 10_000 * 1008.0, within_16=10_000)
    partly(seen, large, 16, 10 * 65_520.0, within_16=10, unwritten_peak_bytes=655_200.0, unwritten_pages=10 * 15)
    for row in seen.tables["written"]:
        row |= {
            "narrow_blocks": row["ended_blocks"],
            "site_blocks": 10_010.0,
            "site_narrow_blocks": 10_010.0,
            "site_requested_bytes": 1024,
        }
    (finding,) = findings(seen)
    saving = finding.saving
    assert saving.peak_bytes is not None and saving.untouched_bytes > 0
    assert saving.untouched_bytes / (saving.peak_bytes + saving.untouched_bytes) == pytest.approx(
        10 * 15 * 4096 / 655_200
    )
