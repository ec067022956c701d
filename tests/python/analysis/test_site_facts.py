"""Histograms of sites."""

from __future__ import annotations

from handmade import Handmade
from tare.analysis.site_facts import Histograms, in_powers, of_line, of_sites


def test_sizes_and_lifetimes_of_sites() -> None:
    made = Handmade()
    one = made.stack("fill@a.c:5", "main")
    made.blocks(one, 20, 24, total=10, end=2, freed_within_16=7, freed_later=1)
    made.blocks(one, 100, 104, total=5, end=5, freed_later=0)
    made.blocks(made.stack("grow@a.c:9", "main"), 8, 24, total=3, freed_within_64=3, freed_later=0)
    recording = made.recording()
    site = next(s["site_id"] for s in made._stack_sites() if s["stack_id"] == one)
    found = of_sites(recording, [site])
    assert list(found) == [site]
    assert found[site] == Histograms(
        [("24 B", 10.0), ("104 B", 5.0)],
        [
            ("within 16 allocations", 7.0),
            ("16 to 63", 0.0),
            ("64 to 255", 0.0),
            ("256 to 65,535", 0.0),
            ("later", 1.0),
            ("never", 7.0),
        ],
    )
    row = next(s["site_location_id"] for s in made._sites() if s["site_id"] == site)
    histograms, stack = of_line(recording, row)
    assert histograms == found[site]
    assert [frame.name for frame in stack] == ["fill", "main"]
    assert of_sites(recording, []) == {}


def test_many_sizes_are_powers_of_two() -> None:
    assert in_powers([(24, 1.0), (40, 2.0)]) == [("24 B", 1.0), ("40 B", 2.0)]
    assert in_powers([(size, 1.0) for size in range(1000, 1040)]) == [("to 1 KiB", 25.0), ("to 2 KiB", 15.0)]
    spread = in_powers([(1 << power, 1.0) for power in range(31)])
    assert len(spread) <= 8 + 1
    assert sum(count for _, count in spread) == 31
