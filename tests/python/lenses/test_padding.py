"""Padding: types that another order makes smaller, by what it leaves of the blocks that hold them."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare import lenses


def test_a_sites_type_is_said_with_its_order_and_what_it_saves(made: Handmade) -> None:
    shape = made.blocks(made.stack("accept@/src/parcels.cc:40", "main"), 104, 104, total=2000, peak=1000, end=500)
    made.type_site(
        shape, "Parcel", 104, 64, saved=32, field_order="number, next, zone", certainty="medium", found_by="a pointer"
    )
    recording = made.recording()
    (finding,) = recording.findings(lenses.load("padding"))
    assert (finding.bytes_peak, finding.bytes_end, finding.calls) == (32_000, 16_000, 2000)
    assert finding.confidence == "medium"
    for words in ("Parcel (types.h:3)", "from 104 to 64 bytes", "number, next, zone", "a pointer"):
        assert words in finding.remedy_in("C++")
    # beside the tare: nothing is granted
    assert recording.moments["peak"].tare_bytes == sum(each.bytes_peak for each in recording.ledger.tare_totals)
    assert "padding" not in {each.lens for each in recording.ledger.tare_totals}


@pytest.mark.parametrize(("certainty", "stated"), [("high", ""), ("medium", "probable"), ("low", "guess")])
def test_how_sure_it_is_is_said(made: Handmade, certainty: str, stated: str) -> None:
    shape = made.blocks(made.stack("accept", "main"), 104, 104, total=1000, peak=1000)
    made.type_site(shape, "Parcel", 104, 64, saved=32, certainty=certainty)
    (finding,) = made.recording().findings(lenses.load("padding"))
    assert stated in finding.remedy_in("C++")
    assert finding.confidence == certainty


def test_of_several_types_at_a_site_the_one_that_wastes_most_speaks(made: Handmade) -> None:
    stack = made.stack("make", "main")
    few = made.blocks(stack, 48, 56, total=100, peak=100)
    many = made.blocks(stack, 104, 104, total=1000, peak=1000)
    made.type_site(few, "Few", 48, 40, saved=16)
    made.type_site(many, "Many", 104, 64, saved=32)
    (finding,) = made.recording().findings(lenses.load("padding"))
    assert finding.bytes_peak == 100 * 16 + 1000 * 32
    assert " Many " in finding.remedy_in("C++")


def test_little_is_no_finding(made: Handmade) -> None:
    shape = made.blocks(made.stack("make", "main"), 104, 104, total=100, peak=100)
    made.type_site(shape, "Parcel", 104, 64, saved=32)  # 3,200 bytes: less than a page
    assert made.recording().findings(lenses.load("padding")) == []


def test_a_long_order_is_cut_between_fields(made: Handmade) -> None:
    shape = made.blocks(made.stack("make", "main"), 2000, 2008, total=100, peak=100)
    made.type_site(shape, "Wide", 2000, 1900, saved=112, field_order=", ".join(f"field_{n}" for n in range(100)))
    (finding,) = made.recording().findings(lenses.load("padding"))
    assert "field_0, field_1" in finding.remedy_in("C++")
    assert "field_99" not in finding.remedy_in("C++")
    assert ", …" in finding.remedy_in("C++")
