"""Unshared: only sites of which next to no block ever had a second holder."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.ledger import Finding


def findings(made: Handmade, *, blocks: int, shared: int, live: int = 0) -> list[Finding]:
    stack = made.stack("make_message", "main")
    shape = made.blocks(stack, 40, 40, total=blocks, end=live)
    made.tables["sharing"].append(
        {"size_id": shape, "stack_id": stack, "requested_bytes": 40, "weight": 1.0, "blocks": blocks,
         "shared_blocks": shared, "end_blocks": live, "end_shared_blocks": 0}
    )  # fmt: skip
    ledger = made.recording().ledger
    return ledger.findings(next(lens for lens in ledger.lenses if lens.name == "unshared"))


def test_blocks_that_were_never_shared(made: Handmade) -> None:
    (finding,) = findings(made, blocks=10_000, shared=300, live=100)
    assert (finding.calls, finding.bytes_end, finding.bytes_total, finding.bytes_peak) == (9700, 800, 77_600, None)
    assert "9,700 of 10 k blocks" in finding.remedy_in("C++") and "97.0%" in finding.remedy_in("C++")
    assert finding.confidence == "medium"


def test_none_was(made: Handmade) -> None:
    (finding,) = findings(made, blocks=2000, shared=0)
    assert finding.confidence == "high"


@pytest.mark.parametrize(("blocks", "shared"), [(10_000, 1000), (900, 0)])
def test_a_tenth_shared_or_few_blocks_are_no_finding(made: Handmade, blocks: int, shared: int) -> None:
    assert not findings(made, blocks=blocks, shared=shared)
