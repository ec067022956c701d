"""Mappings: reservations that nobody touches, and mappings that come and go; large ones that are used, and few, aren't shown."""

from __future__ import annotations

from typing import Any

from handmade import Handmade
from tare import lenses
from tare.analysis.ledger import Finding

MIB = 1 << 20


def findings(made: Handmade, **mapped: Any) -> list[Finding]:
    made.tables["mappings"].append(
        {
            "stack_id": made.stack("reserve", "main"),
            "maps": 1,
            "mapped_bytes": 0,
            "unmapped_bytes": 0,
            "unmapped_byte_ns": 0.0,
        }
        | {"max_bytes": 0.0, "end_bytes": 0, "accessible_bytes": 0, "resident_bytes": 0}
        | mapped
    )
    return made.recording().ledger.findings(lenses.load("mappings"))


def test_a_reservation_that_nobody_touches_is_shown(made: Handmade) -> None:
    (finding,) = findings(made, mapped_bytes=100 * MIB, accessible_bytes=100 * MIB, resident_bytes=9 * MIB)
    assert finding.amount == "91.0 MiB untouched"
    assert "of 100 MiB only 9.00 MiB (9.0%)" in finding.remedy_in("C++")


def test_one_that_is_used_isnt(made: Handmade) -> None:
    assert not findings(made, mapped_bytes=100 * MIB, accessible_bytes=100 * MIB, resident_bytes=11 * MIB)


def test_a_small_one_isnt(made: Handmade) -> None:
    assert not findings(made, mapped_bytes=60 * MIB, accessible_bytes=60 * MIB)


def test_mappings_that_come_and_go_are_shown(made: Handmade) -> None:
    mapped = 1000 * MIB
    (finding,) = findings(
        made,
        maps=1000,
        mapped_bytes=mapped,
        unmapped_bytes=mapped,
        unmapped_byte_ns=2e6 * mapped,
        max_bytes=float(MIB),
    )
    assert finding.amount == "1,000 maps"
    assert "for 2 ms on average" in finding.remedy_in("C++")
    assert finding.confidence == "high"


def test_those_that_stay_arent(made: Handmade) -> None:
    mapped = 1000 * MIB
    assert not findings(made, maps=1000, mapped_bytes=mapped, unmapped_bytes=mapped, unmapped_byte_ns=2e7 * mapped)
    assert not findings(made, maps=1000, mapped_bytes=mapped)
    assert not findings(made, maps=999, mapped_bytes=mapped, unmapped_bytes=mapped, unmapped_byte_ns=2e6 * mapped)
