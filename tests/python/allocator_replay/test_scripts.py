"""The program's memory beside the heap, from a performance of its calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tare.allocator_replay.allocators import GLIBC, Allocator
from tare.allocator_replay.scripts import Recorded


def test_a_heap_larger_than_the_program_leaves_the_rest_unknown() -> None:
    """The program touched a part of its blocks, and the performed calls write them whole."""
    recorded = Recorded(Allocator(GLIBC, ""), 6 << 20, [])

    def performed(in_program_bytes: int) -> Any:
        return SimpleNamespace(in_program_bytes=in_program_bytes)

    assert recorded.outside_heap(performed(4 << 20)) == 2 << 20
    assert recorded.outside_heap(performed(128 << 20)) is None
    assert recorded.outside_heap(None) is None
