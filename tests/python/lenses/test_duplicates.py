"""Duplicates: on blocks whose contents are known."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare import lenses
from tare.lenses.duplicates import ATOM_BYTES


def same_texts(made: Handmade, kinds: tuple[str, ...] = ("peak", "exit"), **columns: object) -> int:
    """100 blocks of 200 bytes and a header, with 4 contents."""
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=100, peak=100, end=100)
    for kind in kinds:
        made.snapshot(kind, [(shape, 4096 + 208 * i, {"digest": i % 4, **columns}) for i in range(100)])
    return shape


SAVED = 100 * 208 - 4 * (208 + ATOM_BYTES)


def test_all_but_one_of_each_content_are_duplicates(made: Handmade) -> None:
    same_texts(made)
    recording = made.recording()
    (finding,) = recording.ledger.findings(lenses.load("duplicates"))
    assert finding.bytes_peak == finding.bytes_end == SAVED
    assert finding.shown
    assert finding.remedy_in("Python").startswith("Keep one object for each value: sys.intern() for str")
    assert "Rc<str>" in finding.remedy_in("Rust")
    assert "100 blocks hold 4 different contents" in finding.remedy_in("C++")
    assert "AtomTable" in finding.remedy_in("C++")
    assert round(SAVED / 1024, 1) == 19.4
    assert "19.4 KiB" in finding.remedy_in("C++")


def test_amounts_are_scaled_to_the_blocks_at_the_peak(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=1000, peak=1000)
    made.snapshot("peak", [(shape, 4096 + 208 * i, {"digest": i % 4}) for i in range(100)])
    recording = made.recording()
    (finding,) = recording.findings(lenses.load("duplicates"))
    assert finding.bytes_peak == 10 * SAVED
    assert "scaled from 19.4 KiB in the snapshot" in finding.remedy_in("C++")
    assert finding.at_least and finding.confidence == "medium", "the snapshot had a tenth of the peak"


def test_a_few_blocks_stand_for_themselves_alone(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1"), 2000, 2000, total=1000, peak=1000)
    made.snapshot("peak", [(shape, 4096 + 2008 * i, {"digest": 1}) for i in range(8)])
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all")
    assert finding.bytes_peak == 8 * 2008 - (2008 + ATOM_BYTES)


def test_only_an_exit_stands_for_both(made: Handmade) -> None:
    same_texts(made, ("exit",))
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"))
    assert finding.bytes_peak == finding.bytes_end == SAVED


def test_what_holds_pointers_or_only_zeros_is_left_alone(made: Handmade) -> None:
    same_texts(made, start_pointers=1)
    same_texts(made, content_class="zeros")
    same_texts(made, digest=None)
    assert made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all") == []


def test_binary_contents_are_to_be_shared_not_interned(made: Handmade) -> None:
    same_texts(made, content_class="other")
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"))
    assert "Bytes" in finding.remedy_in("C++")
    assert finding.confidence == "medium"


def test_contents_are_compared_at_one_moment_only(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=2, peak=1, end=1)
    made.snapshot("peak", [(shape, 4096, {"digest": 7})])
    made.snapshot("exit", [(shape, 8192, {"digest": 7})])
    assert made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all") == []


def test_the_table_that_would_hold_them_is_paid_first(made: Handmade) -> None:
    shape = made.blocks(made.stack("name@a.c:1"), 10, 16, total=10_000, peak=10_000)
    made.snapshot("peak", [(shape, 4096 + 24 * i, {"digest": i // 2}) for i in range(10_000)])
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all")
    assert finding.bytes_peak == 5_000 * (2 * 24 - 24 - ATOM_BYTES)


def test_a_few_equal_binary_blocks_are_scratch_buffers(made: Handmade) -> None:
    shape = made.blocks(made.stack("dense@a.c:1"), 9000, 9000, total=28, peak=28)
    made.snapshot("peak", [(shape, 4096 + 9008 * i, {"digest": i % 9, "content_class": "other"}) for i in range(28)])
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all")
    assert finding.bytes_peak > 100_000 and not finding.shown


def ended(
    made: Handmade, shape: int, copies: float, contents: float, content_class: str = "text", blocks: float = 0
) -> None:
    row = made.tables["site_sizes"][shape]
    made.tables["peak_contents"].append(
        {
            "size_id": shape,
            "stack_id": row["stack_id"],
            "requested_bytes": row["requested_bytes"],
            "content_class": content_class,
            "blocks": blocks or copies,
            "copies": copies,
            "contents": contents,
        }
    )


def test_blocks_that_ended_are_known_without_a_snapshot_of_the_peak(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=1000, peak=1000)
    ended(made, shape, copies=1000, contents=40)
    made.snapshot("peak", [(shape, 4096 + 208 * i, {"digest": i % 4}) for i in range(30)])  # 3 % of the peak
    (finding,) = made.recording().findings(lenses.load("duplicates"))
    assert finding.bytes_peak == 10 * SAVED
    assert finding.saving.exact and not finding.at_least and finding.confidence == "high"
    assert "1,000 blocks hold 40 different contents" in finding.remedy_in("C++") and "scaled" not in finding.remedy_in(
        "C++"
    )


def test_ended_blocks_other_than_text_need_a_look_for_pointers(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1"), 200, 200, total=1000, peak=1000)
    ended(made, shape, copies=1000, contents=40, content_class="other")
    made.snapshot("exit", [])
    assert made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all") == []
    made.pointers(1, shape, pointers=0, fields=0, packed=200, packed_gross=208)
    (finding,) = made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all")
    assert finding.bytes_peak == 10 * SAVED
    made.pointers(1, shape, pointers=1, fields=1, packed=196, packed_gross=208)
    assert made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all") == []


@pytest.mark.parametrize(
    ("copies", "contents", "confidence"), [(1000, 1, "medium"), (1000, 2, "high"), (999, 1, "high")]
)
def test_one_content_everywhere_may_be_a_benchmarks_input(
    made: Handmade, copies: int, contents: int, confidence: str
) -> None:
    shape = made.blocks(made.stack("set@a.c:1"), 200, 200, total=copies, peak=copies, end=copies)
    made.snapshot("exit", [(shape, 4096 + 208 * i, {"digest": i % contents}) for i in range(copies)])
    (finding,) = made.recording().findings(lenses.load("duplicates"))
    assert finding.confidence == confidence
    assert ("benchmark's constant input" in finding.remedy_in("C")) == (confidence == "medium")
    assert (finding.saving.peak_bytes is None) == (confidence == "medium")


@pytest.mark.parametrize(
    ("blocks", "copies", "counts"), [(100, 79, False), (100, 80, True), (89, 70, True), (100, 100, True)]
)
def test_copies_that_differ_at_their_end_were_changed_in_place(
    made: Handmade, blocks: int, copies: int, *, counts: bool
) -> None:
    """Of dot's records of edges half were copies no more. With fewer known ends, nothing follows."""
    shape = made.blocks(made.stack("make_aux_edge@a.c:1"), 2000, 2000, total=100, peak=100)
    ended(made, shape, copies=copies, contents=4, blocks=blocks)
    made.snapshot("peak", [(shape, 4096 + 2008 * i, {"digest": i % 4}) for i in range(100)])
    assert bool(made.recording().ledger.findings(lenses.load("duplicates"), all_claims="all")) is counts
