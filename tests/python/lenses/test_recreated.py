"""Recreated: rebuilt contents by site, and whether the last few would do."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.ledger import Finding


@pytest.fixture
def seen() -> Handmade:
    """An empty recording with contents, to fill."""
    return Handmade().with_contents()


def again(
    made: Handmade, stack: int, digest: int, times: float, near: float, size: int = 40, content: str = "text"
) -> None:
    made.tables["recreated"].append(
        {
            "stack_id": stack,
            "digest": digest,
            "requested_bytes": size,
            "content_class": content,
            "times": times,
            "near_times": near,
            "bytes": times * size,
            "contents": 1.0,
            "max_times": times,
            "max_requested_bytes": size,
        }
    )


def findings(made: Handmade) -> list[Finding]:
    ledger = made.recording().ledger
    return ledger.findings(next(lens for lens in ledger.lenses if lens.name == "recreated"))


def test_the_last_few_would_do(seen: Handmade) -> None:
    stack = seen.stack("type_info", "lookup")
    seen.blocks(stack, 40, 40, total=12_000)
    again(seen, stack, 1, 8000, 7900)
    again(seen, stack, 2, 2000, 1000)
    (finding,) = findings(seen)
    assert "the last 8" in finding.remedy_in("C++") and "8,900 of 10 k" in finding.remedy_in("C++")
    assert "83% of the blocks" in finding.remedy_in("C++")
    assert (finding.calls, finding.bytes_total) == (10_000, 400_000)


def test_many_contents_need_a_table(seen: Handmade) -> None:
    stack = seen.stack("name", "parse")
    seen.blocks(stack, 40, 40, total=12_000)
    for digest in range(100):
        again(seen, stack, digest + 1, 100, 0)
    (finding,) = findings(seen)
    assert "AtomTable" in finding.remedy_in("C++")


def test_equal_texts_that_live_at_once_werent_built_again(seen: Handmade) -> None:
    """A vector of 12,000 texts that is freed at the end; then one that is built a second time."""
    at_once, twice = seen.stack("words", "main"), seen.stack("lines", "main")
    seen.blocks(at_once, 40, 40, total=12_000, peak=12_000)
    again(seen, at_once, 1, 11_900, 11_900)
    assert findings(seen) == []
    seen.blocks(twice, 40, 40, total=24_000, peak=6000)
    again(seen, twice, 2, 23_900, 23_900)
    (finding,) = findings(seen)
    assert (finding.amount, finding.saving.calls) == ("18 k calls", 18_000)
    assert "75% of the blocks" in finding.remedy_in("C++")


def test_chance_isnt_shown(seen: Handmade) -> None:
    mixed = seen.stack("node", "insert")
    seen.blocks(mixed, 24, 24, total=100_000)
    again(seen, mixed, 1, 10_000, 10_000)  # one in ten
    varied = seen.stack("pair", "insert")
    seen.blocks(varied, 24, 24, total=10_000)
    for digest in range(3000):
        again(seen, varied, digest + 1, 2, 0)  # twice each
    rare = seen.stack("rare", "main")
    seen.blocks(rare, 24, 24, total=500)
    again(seen, rare, 1, 499, 499)
    assert not findings(seen)
