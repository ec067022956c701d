"""Headroom: on buffers that grew by hand."""

from __future__ import annotations

from handmade import PROCESS, Handmade
from tare import lenses


def buffers(made: Handmade, steps: int, mark: int = 45_536, **columns: object) -> int:
    """10 buffers of 65,536 bytes in the end, all live at the peak and 6 of them at the exit, where they count as ended."""
    stack = made.stack("append@a.c:1")
    shape = made.blocks(stack, 65536, 65544, total=10, peak=10, end=6)
    made.blocks(stack, 32768, 32776, total=10, peak=0)
    made.chain(stack, grown_blocks=10, steps=steps, max_requested_bytes=65536)
    made.tables["written"].append(
        {"size_id": shape, "stack_id": stack, "requested_bytes": 65536, "ended_blocks": 10.0, "partly_blocks": 10.0,
         "unwritten_peak_bytes": 233_216.0, "unwritten_total_bytes": 233_216.0, "site_blocks": 20.0, "site_narrow_blocks": 0.0,
         "site_requested_bytes": 32768, "site_high_water_bytes": mark, "max_high_water_bytes": mark}
    )  # fmt: skip
    made.snapshot("exit", [(shape, 65552 * i, {"high_water_bytes": 40_000, **columns}) for i in range(6)])
    return shape


def test_what_ended_and_what_lives_on_counts_once(made: Handmade) -> None:
    buffers(made, steps=10)
    (finding,) = made.with_contents().recording().ledger.findings(lenses.load("headroom"))
    assert finding.bytes_end == 6 * 25_536
    assert finding.bytes_peak == 4 * 20_000 + 6 * 25_536
    assert "36% of" in finding.remedy_in("C++")  # 233,216 of 655,360
    assert "10 buffers" in finding.remedy_in("C++")


def test_blocks_that_never_grew_have_no_headroom(made: Handmade) -> None:
    buffers(made, steps=1)
    ledger = made.with_contents().recording().ledger
    assert ledger.findings(lenses.load("headroom"), all_claims="all") == []
    (finding,) = ledger.findings(lenses.load("unwritten"), all_claims="all")
    assert finding.bytes_peak == 233_216


def test_it_counts_beside_the_tare_that_unwritten_is(made: Handmade) -> None:
    buffers(made, steps=10)
    ledger = made.with_contents().recording().ledger
    (finding,) = ledger.findings(lenses.load("unwritten"), all_claims="all")
    assert finding.bytes_peak == 233_216
    assert lenses.load("headroom").weight == "potential"


def test_of_unknown_blocks_nothing_is_claimed(made: Handmade) -> None:
    buffers(made, steps=10, high_water_bytes=None)
    (finding,) = made.with_contents().recording().ledger.findings(lenses.load("headroom"))
    assert finding.bytes_end == 0


def test_large_blocks_full_of_zeros_may_have_been_written(made: Handmade) -> None:
    buffers(made, steps=10, mark=0, high_water_bytes=0)
    assert made.with_contents().recording().ledger.findings(lenses.load("headroom"), all_claims="all") == []


def test_buffers_that_were_written_near_the_peak_return_nothing(made: Handmade) -> None:
    """Half of those were that an earlier snapshot has: this one found them changed. The others count alike."""
    shape = buffers(made, steps=10)
    made.snapshot("peak", [(shape, 65552 * i, {"high_water_bytes": 40_000, "last_write_ns": time}) for i, time in enumerate(
        (PROCESS["peak_time_ns"], PROCESS["peak_time_ns"] - 1, 5, None, None, None, None, PROCESS["peak_time_ns"]))])  # fmt: skip
    (finding,) = made.with_contents().recording().ledger.findings(lenses.load("headroom"))
    assert finding.bytes_peak == 233_216
    assert finding.saving.peak_bytes == 0.5 * 233_216
    assert "114 KiB of that is in buffers that were still written near the peak" in finding.remedy_in("C++")


def test_a_few_buffers_with_a_date_do_not_stand_for_all(made: Handmade) -> None:
    """Three of eight aren't half, and twenty are needed otherwise."""
    shape = buffers(made, steps=10)
    now = PROCESS["peak_time_ns"]
    made.snapshot("peak", [(shape, 65552 * i, {"high_water_bytes": 40_000, "last_write_ns": time}) for i, time in enumerate(
        (now, now, None, None, None, None, None, now))])  # fmt: skip
    (finding,) = made.with_contents().recording().ledger.findings(lenses.load("headroom"))
    assert finding.saving.peak_bytes == 5 / 8 * 233_216
