"""Growth: slow chains are shown with their three costs, doubling ones aren't."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import Handmade
from tare.analysis.ledger import Finding

# the seed's example: one buffer from 1 byte to 1 MiB, a byte at a time
SEED = {
    "grown_blocks": 1, "steps": 1_048_575, "slow_steps": 1_048_570, "in_place_steps": 1_048_000, "copied_bytes": 1_000_000,
    "doubling_copied_bytes": 1_048_575, "requested_bytes": 549_756_338_176, "rounded_4k_bytes": 134_742_016,
    "doubling_bytes": 2_093_056, "max_requested_bytes": 1 << 20,
}  # fmt: skip


def findings(made: Handmade, **chain: Any) -> list[Finding]:
    stack = made.stack("append", "main")
    made.blocks(stack, 1 << 20, 1 << 20, total=2, peak=1)
    made.chain(stack, **chain)
    ledger = made.recording().ledger
    return ledger.findings(next(lens for lens in ledger.lenses if lens.name == "growth"))


def test_the_seeds_numbers_are_said_even_where_nothing_was_copied(made: Handmade) -> None:
    (finding,) = findings(made, **SEED)
    for number in ("549,756,338,176", "134,742,016", "2,093,056", "1,048,575 reallocs"):
        assert number in finding.remedy_in("C++")
    assert "the cost is the calls" in finding.remedy_in("C++")
    assert finding.amount == "1.05 M steps", "what it's about, and not the million bytes that were copied by the way"
    assert "tare::Buffer" in finding.remedy_in("C++")


def test_copying_makes_it_certain(made: Handmade) -> None:
    (finding,) = findings(made, **SEED | {"copied_bytes": 500_000_000_000, "in_place_steps": 0})
    assert finding.confidence == "high"
    assert not finding.amount, "the lens' own unit, bytes"
    assert finding.bytes_total == 500_000_000_000 - 1_048_575


def test_growth_by_malloc_and_free_is_said_as_such(made: Handmade) -> None:
    (finding,) = findings(made, **SEED | {"kind": "malloc-copy-free", "copied_bytes": 5e11})
    assert "malloc, copy and free" in finding.remedy_in("C++")


def test_doubling_is_no_finding(made: Handmade) -> None:
    assert not findings(made, **SEED | {"steps": 20, "slow_steps": 0, "copied_bytes": 1_048_575})


def test_growing_twice_and_stopping_is_no_finding(made: Handmade) -> None:
    assert not findings(
        made, **SEED | {"grown_blocks": 1000, "steps": 2000, "slow_steps": 1500, "copied_bytes": 3_000_000}
    )


COPIED = SEED | {"steps": 16, "slow_steps": 16, "copied_bytes": 315_000, "doubling_copied_bytes": 0}


def test_a_copy_into_a_block_of_its_size_is_no_finding(made: Handmade) -> None:
    assert not findings(made, **COPIED | {"grown_blocks": 16})


def test_two_steps_a_buffer_are_a_way_of_growing(made: Handmade) -> None:
    (finding,) = findings(made, **COPIED | {"grown_blocks": 8})
    assert finding.bytes_total == 315_000


def test_few_calls_are_not_worth_it(made: Handmade) -> None:
    few = SEED | {
        "steps": 90,
        "slow_steps": 80,
        "copied_bytes": 3000,
        "max_requested_bytes": 336,
    }  # glibc's environ, 40 variables
    assert not findings(made, **few)


def test_hundreds_of_them_are(made: Handmade) -> None:
    assert findings(made, **SEED | {"steps": 330, "slow_steps": 330, "copied_bytes": 3000, "max_requested_bytes": 2776})


def test_steps_in_place_need_to_be_many_of_the_calls(made: Handmade) -> None:
    made.blocks(made.stack("node", "main"), 32, 40, total=100_000, peak=10)
    few = SEED | {
        "steps": 330,
        "slow_steps": 330,
        "in_place_steps": 325,
        "copied_bytes": 3000,
        "max_requested_bytes": 2776,
    }
    assert not findings(made, **few)
    other = Handmade()
    other.blocks(other.stack("node", "main"), 32, 40, total=10_000, peak=10)
    assert findings(other, **few)


def test_steps_in_place_and_steps_that_move_have_prices_of_their_own(made: Handmade) -> None:
    (finding,) = findings(made, **SEED | {"in_place_steps": 524_288, "copied_bytes": 5e11})
    saving = finding.saving
    steps = saving.reallocs + saving.moving_reallocs
    assert 0.99 * 1_048_575 < steps < 1_048_575, "those of doubling stay"
    assert saving.reallocs == pytest.approx(steps * 524_288 / 1_048_575)
