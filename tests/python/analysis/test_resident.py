"""Resident memory by owner: on a process counted by hand."""

from __future__ import annotations

import json
import re

import pytest
from handmade import Handmade
from tare.analysis import resident
from tare.errors import TareError
from tare.reports import resident as texts
from tare.text.terminal import Style


class _NoTerminal:
    def isatty(self) -> bool:
        return False


@pytest.fixture
def process(made: Handmade) -> Handmade:
    """100 blocks of 1,000 bytes (1,008 usable, 8 of header) in a heap of 200,000 bytes, and some files."""
    shape = made.blocks(made.stack("f@a.c:1"), 1000, 1008, total=100, peak=100, end=100)
    made.snapshot("peak", [(shape, 4096 + 1016 * i, {}) for i in range(90)])
    made.snapshot("exit", [(shape, 4096 + 1016 * i, {}) for i in range(100)])
    made.resident(1, "heap", 120_000, 100_000)
    made.resident(2, "heap", 200_000, 150_000)
    for number in range(7):
        made.resident(2, "file", 10_000 * (number + 1), name=f"/lib/lib{number}.so")
    made.resident(2, "stack", 8192)
    made.resident(2, "recorder", 4096)
    made.tables["snapshots"][1]["absent_bytes"] = 4096
    return made


def test_the_heap_is_live_blocks_and_what_the_allocator_keeps(process: Handmade) -> None:
    found = resident.residence(process.recording(), None)
    assert found.kind == "exit"
    assert found.heap.requested_bytes == 100_000
    assert found.heap.slop_bytes == 800
    assert found.heap.header_bytes == 800
    assert found.heap.absent_bytes == 4096
    assert found.heap.kept_bytes == 200_000 - (100_000 + 800 + 800 - 4096)
    assert found.resident_bytes == sum(part.resident_bytes for part in found.parts)


def test_any_look_can_be_asked_for(process: Handmade) -> None:
    assert resident.residence(process.recording(), "peak").heap.requested_bytes == 90_000
    with pytest.raises(TareError, match="use peak, end"):
        resident.residence(process.recording(), "noon")


def test_a_recording_without_looks_says_what_to_do(made: Handmade) -> None:
    with pytest.raises(TareError, match="--snapshots"):
        resident.residence(made.recording(), None)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_it_fits_a_screen(process: Handmade, width: int) -> None:
    recording = process.recording()
    lines = list(texts.report(recording, resident.residence(recording, None), Style(_NoTerminal()), width))
    assert max(map(len, lines)) <= width
    assert len(lines) < (40 if width >= 60 else 60)
    text = "\n".join(lines)
    assert "(2 more)" in text
    assert "free memory that glibc keeps" in " ".join(text.split())
    assert "malloc_trim" in text  # as much is free as is live
    assert json.loads(json.dumps(texts.as_json(recording, resident.residence(recording, None))))["kind"] == "exit"


@pytest.mark.parametrize(
    ("allocator", "call"), [("jemalloc", "mallctl"), ("mimalloc", "mi_collect"), ("unknown", "make the allocator")]
)
def test_each_allocator_is_told_in_its_own_words(process: Handmade, allocator: str, call: str) -> None:
    said = texts.advice(resident.residence(process.recording(), None), allocator)
    assert call in said
    assert "malloc_trim" not in said


def test_no_row_has_more_than_the_resident_memory(process: Handmade) -> None:
    """Requested bytes on untouched pages are no share of it."""
    process.tables["snapshots"][1]["absent_bytes"] = 1 << 30
    process.blocks(process.stack("g@a.c:2"), 1 << 30, 1 << 30, total=1, end=1)
    process.tables["snapshot_blocks"][-1]["requested_bytes"] = process.tables["snapshot_blocks"][-1]["usable_bytes"] = (
        1 << 30
    )
    recording = process.recording()
    lines = list(texts.report(recording, resident.residence(recording, None), Style(_NoTerminal()), 100))
    shares = [float(share) for line in lines for share in re.findall(r"([-\d.]+)%", line)]
    assert 100.0 in shares and all(0 <= share <= 100 for share in shares), lines
