"""tare layout's own part: what changed between two binaries, and JSON."""

from __future__ import annotations

from handmade_types import a_type
from tare.commands.layout import changes


def test_blocks_that_grew_most_come_first() -> None:
    old = {name: a_type(name, size) for name, size in (("A", 40), ("B", 40), ("C", 100), ("Gone", 8), ("Same", 8))}
    new = {name: a_type(name, size) for name, size in (("A", 48), ("B", 72), ("C", 50), ("New", 8), ("Same", 8))}
    found = changes(old, new, "jemalloc")
    assert [pair[0][0].name for pair in found] == ["B", "A", "C"]
    assert [(before[1].size_bytes, after[1].size_bytes) for before, after in found] == [(48, 80), (48, 48), (112, 64)]
