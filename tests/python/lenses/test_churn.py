"""Churn: only sites whose blocks nearly all die at once, with what would replace them."""

from __future__ import annotations

from handmade import Handmade
from tare.analysis.ledger import Finding


def findings(made: Handmade) -> list[Finding]:
    ledger = made.recording().ledger
    return ledger.findings(next(lens for lens in ledger.lenses if lens.name == "churn"))


def test_small_ones_go_inline(made: Handmade) -> None:
    stack = made.stack("format", "main")
    made.blocks(stack, 20, 24, total=4000, freed_within_16=4000)
    made.blocks(stack, 40, 40, total=5900, freed_within_16=5000, freed_within_64=900)
    made.blocks(stack, 300, 312, total=100, freed_within_64=100)
    (finding,) = findings(made)
    assert finding.calls == 10_000
    assert "0% fit 16, 40% fit 32, 99% fit 48" in finding.remedy_in("C++")
    assert " 48 bytes in the object" in finding.remedy_in("C++") and "tare::TextStream" in finding.remedy_in("C++")


def test_equal_sizes_are_reused(made: Handmade) -> None:
    made.blocks(made.stack("inflateInit2_", "main"), 7160, 7160, total=6837, freed_within_16=6837)
    (finding,) = findings(made)
    assert "Keep one block of 7,160 bytes and reuse it" in finding.remedy_in("C++")


def test_varied_large_ones_get_a_buffer(made: Handmade) -> None:
    for size in (100, 500, 9000):
        made.blocks(made.stack("join", "main"), size, size + 8, total=1000, freed_within_64=1000)
    (finding,) = findings(made)
    assert "tare::Buffer" in finding.remedy_in("C++") and "8.79 KiB" in finding.remedy_in("C++")
    assert "tare::Arena" in finding.remedy_in("C++")


def test_the_cost_of_calls_is_told_where_enough_were_timed(made: Handmade) -> None:
    for size in (100, 500, 9000):
        made.blocks(made.stack("join", "main"), size, size + 8, total=1000, freed_within_64=1000)
    costs = {
        "stack_id": made.stack("join", "main"),
        "calls": 20,
        "ns": 1800.0,
        "max_ns": 1200.0,
        "winsorized_ns": 632.0,
    }
    costs |= {"free_calls": 10, "free_ns": 300.0, "max_free_ns": 44.0, "winsorized_free_ns": 284.4}
    made.tables["call_costs"].append(costs)
    (finding,) = findings(made)
    allocation = "an allocation took 11.6 ns here (20 timed, the longest 1.2 us)"
    free = "a free took 8.44 ns here (10 timed, the longest 44 ns)"
    assert f"; {allocation}, {free}, 60.1 us for all, waits for locks aside" in finding.remedy_in("C++")
    costs["free_calls"] = 3
    (finding,) = findings(made)
    assert f"; {allocation}, 34.8 us for all" in finding.remedy_in("C++")
    costs["calls"] = 3
    (finding,) = findings(made)
    assert "took" not in finding.remedy_in("C++")


def test_hot_sites_whose_blocks_live_arent_listed(made: Handmade) -> None:
    made.blocks(made.stack("node", "main"), 24, 24, total=100_000, freed_within_16=50_000, freed_later=50_000)
    made.blocks(made.stack("rare", "main"), 24, 24, total=500, freed_within_16=500)
    assert not findings(made)


def test_pools_blocks_are_cheap(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 24, 24, total=5000, freed_within_16=5000, header=0, api="pool block")
    recording = made.recording()
    lens = next(lens for lens in recording.ledger.lenses if lens.name == "churn")
    assert recording.ledger.findings(lens, all_claims="all") == []


def test_an_arena_is_proposed_for_small_blocks_only(made: Handmade) -> None:
    for size, name in ((100, "small"), (8192, "chunk")):
        for more in (0, 100, 200):
            made.blocks(made.stack(name, "main"), size + more, size + more, total=5000, freed_within_16=5000)
    remedies = {round(each.bytes_total or 0): each.remedy_in("C") for each in findings(made)}
    small, chunk = (remedies[size] for size in sorted(remedies))
    assert "an arena (obstack) that is reset after use" in small
    assert "arena" not in chunk and chunk.startswith("Keep one buffer and reuse it")
