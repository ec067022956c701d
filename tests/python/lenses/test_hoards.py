"""Hoards: on blocks of which is known when they changed."""

from __future__ import annotations

from handmade import Handmade
from tare import lenses

END_NS = 2_000_000_000  # of the handmade run
PEAK_NS = 1_000_000_000


def cache(made: Handmade, last_write_ns: list[int | None], total: float | None = None, **columns: object) -> None:
    """As many blocks of 4,096 bytes, and when each got what it holds at the exit."""
    blocks = len(last_write_ns)
    shape = made.blocks(made.stack("keep@a.c:1"), 4096, 4104, total=total or blocks, peak=blocks, end=blocks)
    made.snapshot("exit", [(shape, 8192 * i, {"last_write_ns": at, **columns}) for i, at in enumerate(last_write_ns)])


def test_what_lies_unchanged_for_half_of_the_run_is_a_hoard(made: Handmade) -> None:
    cache(made, [500_000_000] * 95 + [END_NS] * 5)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
    assert finding.bytes_end == 95 * 4112
    assert "95 blocks lay unchanged for 1.50 s" in finding.remedy_in("C++")
    assert "95% of the site's" in finding.remedy_in("C++")


def test_others_that_come_and_go_meanwhile_prove_nothing(made: Handmade) -> None:
    cache(made, [0] * 100, total=5000)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
    assert "4,900 other" in finding.remedy_in("C++")
    assert finding.confidence == "low", "the rows of a database aren't written either"


def test_bytes_that_were_never_written_are_no_hoard(made: Handmade) -> None:
    cache(made, [0] * 100, high_water_bytes=96)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"), all_claims="all")
    assert finding.bytes_end == 100 * (4112 - 4000)


def test_what_the_kernel_saw_nobody_read_is_certain(made: Handmade) -> None:
    cache(made, [0] * 100)
    # 411,200 unchanged; 12,790,000 untouched, less the 12,582,912 that may have been
    made.resident(1, "heap", 13_000_000, touched=210_000)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
    assert finding.confidence == "high"
    assert "kernel" in finding.remedy_in("C++")


def test_a_quarter_of_the_run_is_enough_if_the_kernel_confirms_it(made: Handmade) -> None:
    cache(made, [1_400_000_000] * 100)  # 30 % of the run
    assert made.recording().ledger.findings(lenses.load("hoards")) == []
    made.resident(1, "heap", 13_000_000, touched=210_000)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
    assert finding.confidence == "high"
    assert "100 blocks lay unchanged for 0.60 s" in finding.remedy_in("C++")


def test_a_quarter_of_the_run_that_may_have_been_read_is_no_hoard(made: Handmade) -> None:
    cache(made, [1_400_000_000] * 100)
    made.resident(1, "heap", 13_000_000, touched=320_000)
    assert made.recording().ledger.findings(lenses.load("hoards")) == []


def test_what_was_in_use_at_the_peak_returns_nothing_there() -> None:
    for fresh, gains in ((90, False), (10, True)):
        made = Handmade()
        shape = made.blocks(made.stack("keep@a.c:1"), 4096, 4104, total=100, peak=100, end=100)
        written = [END_NS if i < fresh else 0 for i in range(100)]
        made.snapshot("peak", [(shape, 8192 * i, {"last_write_ns": at}) for i, at in enumerate(written)])
        written = [PEAK_NS if i < fresh else 0 for i in range(100)]
        made.snapshot("exit", [(shape, 8192 * i, {"last_write_ns": at}) for i, at in enumerate(written)])
        (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
        assert finding.bytes_peak > 0
        assert bool(finding.saving.peak_bytes) is gains


def test_the_exit_dates_blocks_if_the_snapshot_of_the_peak_is_early() -> None:
    for last_ns, gains in ((450_000_000, True), (550_000_000, False)):
        made = Handmade()
        shape = made.blocks(made.stack("keep@a.c:1"), 4096, 4104, total=100, peak=100, end=100)
        made.snapshot("peak", [(shape, 8192 * i, {"last_write_ns": None}) for i in range(100)])
        made.snapshot("exit", [(shape, 8192 * i, {"last_write_ns": last_ns}) for i in range(100)])
        (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
        assert finding.saving.peak_bytes == (100 * 4112 if gains else 0)


def test_what_was_read_or_written_later_returns_nothing() -> None:
    for touched, share in ((308_400, 0.25), (102_800, 0.75), (0, 1.0), (411_200, 0.0)):
        made = Handmade()
        cache(made, [0] * 100)
        made.resident(1, "heap", 411_200, touched=touched)
        (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
        assert finding.bytes_peak == 411_200
        assert finding.saving.peak_bytes == share * 411_200
        assert ("The rest was read or written" in finding.remedy_in("C++")) is (share < 1)


def test_what_somebody_may_have_read_is_not(made: Handmade) -> None:
    cache(made, [0] * 100)
    made.resident(1, "heap", 13_000_000, touched=320_000)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
    assert finding.confidence == "low"


def test_a_quarter_that_nobody_read_is_probable(made: Handmade) -> None:
    cache(made, [0] * 100)
    made.resident(1, "heap", 13_000_000, touched=220_000)
    (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
    assert finding.confidence == "medium"
    assert "at least 48% of the unchanged bytes weren't read" in finding.remedy_in("C++")


def test_a_site_that_changes_what_it_keeps_uses_it(made: Handmade) -> None:
    cache(made, [0] * 80 + [END_NS - 1] * 20)
    assert made.recording().ledger.findings(lenses.load("hoards")) == []


def test_a_site_that_still_grows_is_none(made: Handmade) -> None:
    cache(made, [0] * 80 + [None] * 20)
    assert made.recording().ledger.findings(lenses.load("hoards")) == []


def test_blocks_seen_once_or_lost_are_none(made: Handmade) -> None:
    cache(made, [None] * 100)
    cache(made, [0] * 100, lost=True)
    found = made.recording().ledger.findings(lenses.load("hoards"), all_claims="all")
    assert [f.bytes_end for f in found] == [0]


def test_memory_for_exceptions_is_no_hoard(made: Handmade) -> None:
    shape = made.blocks(made.stack("_GLOBAL__sub_I_eh_alloc.cc", "main"), 72_704, 72_712, total=1, peak=1, end=1)
    made.snapshot("exit", [(shape, 4096, {"last_write_ns": 0})])
    assert made.recording().ledger.findings(lenses.load("hoards"), all_claims="all") == []


def test_what_nobody_read_while_all_was_freed_may_have_been_read_before() -> None:
    """jshon parses its text until the peak, and keeps it while it frees the tree: freeing the text earlier isn't possible."""
    for at_ns, left, gains in (
        (PEAK_NS - 1, 40, True),
        (PEAK_NS + 300_000_000, 90, True),
        (PEAK_NS + 300_000_000, 40, False),
    ):
        made = Handmade()
        shape = made.blocks(made.stack("read@a.c:1"), 4096, 4104, total=100, peak=100, end=left)
        blocks = [(shape, 8192 * i, {"last_write_ns": 0}) for i in range(left)]
        made.snapshot("peak", blocks)
        made.tables["snapshots"][0]["time_ns"] = at_ns
        made.snapshot("exit", blocks)
        made.resident(2, "heap", 13_000_000, touched=210_000)
        (finding,) = made.recording().ledger.findings(lenses.load("hoards"))
        assert finding.confidence == "high"
        assert bool(finding.saving.peak_bytes) is gains, (at_ns, left)
