"""Findings that came, went and changed."""

from __future__ import annotations

from handmade import Handmade
from tare.analysis.finding_changes import between


def recording(**sites: int) -> Handmade:
    """Headers of many small blocks at each site."""
    made = Handmade()
    for name, blocks in sites.items():
        made.blocks(made.stack(f"{name}@{name}.c:3", "main"), 24, 24, total=blocks, peak=blocks, end=blocks)
    return made


def test_each_kind_of_change() -> None:
    before = recording(left=50_000, stays=40_000, grows=30_000)
    after = recording(came=45_000, stays=40_000, grows=60_000)
    found = {
        (change.kind, change.shown.lens.name, change.shown.frame.name)
        for change in between(before.recording(), after.recording())
        if change.shown.lens.name == "headers"
    }
    assert found == {
        ("new", "headers", "came"),
        ("gone", "headers", "left"),
        ("changed", "headers", "grows"),
        ("same", "headers", "stays"),
    }


def test_the_order_is_new_gone_changed_same() -> None:
    before = recording(left=50_000, stays=40_000, grows=30_000)
    after = recording(came=45_000, stays=40_000, grows=60_000)
    kinds = [change.kind for change in between(before.recording(), after.recording())]
    assert kinds == sorted(kinds, key=["new", "gone", "changed", "same"].index)
