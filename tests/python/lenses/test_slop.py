"""Slop: clownshoes are named, growing buffers told apart, the rest called unavoidable."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.ledger import Finding


def findings(made: Handmade) -> list[Finding]:
    ledger = made.recording().ledger
    return ledger.findings(ledger.lenses[0], all_claims="all")


# requests of the seed under its old jemalloc: (requested, usable, class below, clownshoe?)
SEED = [
    (24, 32, 16, False),
    (18, 32, 16, False),
    (72, 80, 64, False),
    (680, 1024, 512, False),
    (1025, 2048, 1024, True),
    (1056, 2048, 1024, True),
    (1032, 2048, 1024, True),
    (2087, 4096, 2048, True),
    (4135, 8192, 4096, True),
    (4095, 4096, 2048, False),
    ((1 << 20) + 2, 1 << 21, 1 << 20, True),
]


@pytest.mark.parametrize(("requested", "usable", "below", "clownshoe"), SEED)
def test_the_seeds_clownshoes_are_named(
    made: Handmade, requested: int, usable: int, below: int, clownshoe: bool
) -> None:
    made.blocks(made.stack("f", "main"), requested, usable, total=5, peak=5, header=0)
    made.size_class(requested, usable, below, clownshoe=int(clownshoe))
    (finding,) = findings(made)
    assert (finding.mark == "clownshoe") == clownshoe
    assert finding.bytes_peak == 5 * (usable - requested)
    if clownshoe:
        assert f" {below:,} bytes instead of" in finding.remedy_in("C++") and "tare::good_size" in finding.remedy_in(
            "C++"
        )
        assert finding.confidence == "high"


def test_growing_buffers_are_shown_and_fixed_objects_arent(made: Handmade) -> None:
    grows, fixed = made.stack("append", "main"), made.stack("node", "main")
    made.chain(grows, steps=900)
    for stack, peak in ((grows, 600), (fixed, 6000)):
        made.blocks(stack, 32, 40, total=1000, peak=peak)
    made.size_class(32, 40, 24)
    first, second = findings(made)
    assert (
        "tare::Buffer" in first.remedy_in("C++")
        and "good_size" in first.remedy_in("C++")
        and first.confidence == "medium"
    )
    assert second.confidence == "low"
    assert second.bytes_peak == 48_000  # in the tare, though nobody can act on it
    assert first.shown and not second.shown


def test_a_site_of_both_kinds_is_told_of_what_it_can_avoid(made: Handmade) -> None:
    mixed = made.stack("wrapper", "main")
    made.blocks(mixed, 1032, 2040, total=10, peak=10)
    made.blocks(mixed, 29, 40, total=90_000, peak=90_000)
    made.size_class(1032, 2040, 1016, clownshoe=1)
    made.size_class(29, 40, 24)
    (finding,) = findings(made)
    assert finding.shown and finding.mark == "clownshoe" and "9.84 KiB at the peak" in finding.remedy_in("C++")


def test_a_request_without_a_model_still_counts(made: Handmade) -> None:
    made.blocks(made.stack("f"), 10, 24, total=1, peak=1)
    (finding,) = findings(made)
    assert finding.bytes_peak == 14


def test_byte_seconds_are_the_slops_share(made: Handmade) -> None:
    made.blocks(made.stack("f"), 24, 40, total=1, peak=1, byte_ns=48e9)
    (finding,) = findings(made)
    assert finding.byte_ns == pytest.approx(16e9)


def test_a_site_that_mostly_shrinks_isnt_called_growing(made: Handmade) -> None:
    finishes = made.stack("resize_compact", "main")
    made.chain(finishes, steps=5, grown_blocks=2)
    made.blocks(finishes, 58, 72, total=10_000, peak=10_000)
    (finding,) = findings(made)
    assert finding.confidence == "low" and not finding.mark


def test_a_copy_into_an_object_of_fixed_size_isnt_called_growing(made: Handmade) -> None:
    copies = made.stack("createEmbeddedStringObject", "main")
    made.chain(copies, steps=10_000, grown_blocks=10_000, kind="malloc-copy-free")
    made.blocks(copies, 36, 48, total=10_000, peak=10_000, header=0)
    (finding,) = findings(made)
    assert finding.confidence == "low" and not finding.shown


def test_what_a_pool_hands_to_nobody_is_its_slop(made: Handmade) -> None:
    grow = made.stack("grow", "main")
    made.size_class(0, 24, 0, clownshoe=1)  # not asked of malloc: no size class is at fault
    made.blocks(grow, 0, 30_000, total=1, peak=1, header=0, api="pool memory")
    made.blocks(made.stack("new_node", "main"), 64, 64, total=500, peak=500, header=0, api="pool block")
    (finding,) = findings(made)
    assert finding.bytes_peak == 30_000
    assert finding.shown
    assert finding.mark == "pool"
    assert "tare::Arena" in finding.remedy_in("C++") and "29.3 KiB" in finding.remedy_in("C++")


@pytest.mark.parametrize(
    ("requested", "usable", "below", "header", "saved"),
    [
        (32_808, 40_960, 32_768, 0, 40),  # jemalloc: 8,152 bytes of slop, of which no page was touched
        ((1 << 20) + 2, 1 << 21, 1 << 20, 0, 2),
        (1025, 2048, 1024, 0, 1023),  # several blocks have a page
        (135_000, 139_248, 131_056, 16, 4248),  # glibc maps it: the last page was touched
    ],
)
def test_pages_that_were_never_touched_return_no_rss(
    made: Handmade, requested: int, usable: int, below: int, header: int, saved: int
) -> None:
    made.blocks(made.stack("f", "main"), requested, usable, total=5, peak=5, header=header)
    made.size_class(requested, usable, below, clownshoe=1)
    (finding,) = findings(made)
    slop = usable - requested
    assert finding.bytes_peak == 5 * slop
    assert finding.saving.peak_bytes == 5 * saved
    assert finding.saving.untouched_bytes == 5 * (slop - saved)
    assert ("on pages that nobody touches and return no RSS" in finding.remedy_in("C")) == (saved < slop)
