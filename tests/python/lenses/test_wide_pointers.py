"""Wide pointers: on kinds whose pointers are known."""

from __future__ import annotations

from handmade import Handmade
from tare import lenses


def nodes(made: Handmade, packed: int, packed_gross: int, kinds: tuple[str, ...] = ("peak", "exit")) -> None:
    """1,000 nodes of 40 bytes, two of their five words pointers."""
    shape = made.blocks(made.stack("new_node@a.c:1"), 40, 40, total=1000, peak=1000, end=1000)
    for number, kind in enumerate(kinds, 1):
        made.snapshot(kind, [])
        made.pointers(number, shape, pointers=2000, fields=2, packed=packed, packed_gross=packed_gross)


def test_what_size_classes_leave_of_it_is_the_claim(made: Handmade) -> None:
    nodes(made, packed=32, packed_gross=40)
    (finding,) = made.recording().ledger.findings(lenses.load("wide-pointers"))
    assert finding.bytes_peak == finding.bytes_end == 1000 * (48 - 40)
    assert "40% of the words" in finding.remedy_in("C++")
    assert "saves 7.81 KiB" in finding.remedy_in("C++")  # 2000 * 4
    assert "after padding 7.81 KiB" in finding.remedy_in("C++")  # 1000 * (40 - 32)


def test_padding_and_size_classes_may_take_it_all(made: Handmade) -> None:
    nodes(made, packed=40, packed_gross=48)
    (finding,) = made.recording().ledger.findings(lenses.load("wide-pointers"), all_claims="all")
    assert finding.bytes_peak == 0
    assert not finding.shown


def test_only_an_exit_stands_for_both(made: Handmade) -> None:
    nodes(made, packed=32, packed_gross=40, kinds=("exit",))
    (finding,) = made.recording().ledger.findings(lenses.load("wide-pointers"))
    assert finding.bytes_peak == finding.bytes_end == 8000


def test_it_never_leaves_net(made: Handmade) -> None:
    nodes(made, packed=32, packed_gross=40)
    with_it, without = (
        made.recording().ledger.tare_bytes(),
        type(made.recording())(made, ["slop", "headers"]).ledger.tare_bytes(),
    )
    assert with_it[0] >= without[0]
    assert lenses.load("wide-pointers").weight == "potential"


def test_arrays_and_pages_arent_shown(made: Handmade) -> None:
    shape = made.blocks(made.stack("page", "main"), 4360, 4360, total=1000, peak=1000, end=1000)
    made.snapshot("exit", [])
    made.pointers(1, shape, pointers=9000, fields=9, packed=4320, packed_gross=4328)
    (finding,) = made.recording().ledger.findings(lenses.load("wide-pointers"), all_claims="all")
    assert finding.bytes_peak == 1000 * (4368 - 4328) and not finding.shown


def test_a_few_words_that_look_like_pointers_arent_a_field_of_all(made: Handmade) -> None:
    shape = made.blocks(made.stack("jv_string", "main"), 16, 24, total=10_000, peak=10_000)
    made.snapshot("peak", [])
    made.pointers(1, shape, pointers=100, fields=2, packed=8, packed_gross=24)
    (finding,) = made.recording().ledger.findings(lenses.load("wide-pointers"), all_claims="all")
    assert finding.bytes_peak == 10_000 * 8 * 2 * 100 / 20_000
    assert not finding.shown


def test_few_pointers_may_be_cases_of_a_union(made: Handmade) -> None:
    made.snapshot("peak", [])
    for name, pointers in (("node@a.c:1", 2000), ("value@a.c:2", 1000)):
        shape = made.blocks(made.stack(name), 40, 40, total=1000, peak=1000, end=1000)
        made.pointers(1, shape, pointers=pointers, fields=2, packed=32, packed_gross=40)
    found = made.recording().ledger.findings(lenses.load("wide-pointers"))
    assert [each.confidence for each in sorted(found, key=lambda each: each.site_id)] == ["medium", "low"]


def test_pointers_into_the_middle_of_blocks_save_nothing(made: Handmade) -> None:
    """Of std::vector's three pointers only the first is the start of a block."""
    nodes(made, packed=32, packed_gross=40)
    for row in made.tables["pointer_words"]:
        row["start_pointers"], row["interior_pointers"] = 500.0, 1500.0
    (finding,) = made.recording().ledger.findings(lenses.load("wide-pointers"), all_claims="all")
    assert finding.bytes_peak == 1000 * (48 - 40) / 4
    assert "10% of the words" in finding.remedy_in("C++")
    assert finding.confidence == "low"
