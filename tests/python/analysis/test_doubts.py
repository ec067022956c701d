"""Doubts by the file of code: files that call malloc_usable_size, and libraries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.doubts import may_use_slop
from tare.analysis.worth import ranking
from tare.reports.do_first import amounts, gains


def test_the_name_is_that_of_a_whole_symbol(tmp_path: Path) -> None:
    for name, contents, found in (
        ("plain", b"\0malloc\0free\0", False),
        ("asks", b"\0malloc\0malloc_usable_size\0free\0", True),
        ("jemalloc", b"\0je_malloc_usable_size\0", True),
        ("longer", b"\0malloc_usable_size_of\0", False),
        ("empty", b"", False),
        ("in two pieces", b"x" * ((1 << 20) - 7) + b"malloc_usable_size\0", True),
    ):
        (tmp_path / name).write_bytes(contents)
        assert may_use_slop(str(tmp_path / name)) is found
    assert not may_use_slop(str(tmp_path / "missing"))
    os.mkfifo(tmp_path / "pipe")
    assert not may_use_slop(str(tmp_path / "pipe")), "and it doesn't wait for a writer"
    assert not may_use_slop(str(tmp_path)) and not may_use_slop("a\0b")


@pytest.mark.parametrize("asks", [False, True])
def test_a_growing_buffer_of_such_a_file_has_no_predicted_gain(
    made: Handmade, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.analysis.doubts.may_use_slop", lambda path: asks and path == "/bin/app")
    grows, fixed = made.stack("lpInsert", "main"), made.stack("node", "main")
    made.chain(grows, steps=90_000, grown_blocks=10)
    made.blocks(grows, 24, 32, total=100_000, peak=10_000, header=0)
    made.blocks(fixed, 1032, 2040, total=10, peak=10, header=0)
    made.size_class(1032, 2040, 1016, clownshoe=1)
    recording = made.recording()
    buffer, clownshoe = recording.findings(lenses.load("slop"))
    assert buffer.confidence == ("low" if asks else "medium")
    assert ("app calls malloc_usable_size" in buffer.remedy_in("C")) is asks
    assert buffer.bytes_peak == 80_000, "it counts as tare all the same"
    assert [entry.finding.mark for entry in ranking(recording).first] == (["clownshoe"] if asks else ["", "clownshoe"])
    assert clownshoe.confidence == "high"


@pytest.mark.parametrize(("exe", "confidence"), [("/bin/app", "medium"), ("/bin/other", "low")])
def test_pointers_in_the_types_of_a_library_are_unsure(exe: str, confidence: str) -> None:
    made = Handmade(exe=exe)  # the code is in /bin/app
    shape = made.blocks(made.stack("new_node@a.c:1"), 40, 40, total=1000, peak=1000, end=1000)
    made.snapshot("peak", [])
    made.pointers(1, shape, pointers=2000, fields=2, packed=32, packed_gross=40)
    (finding,) = made.recording().findings(lenses.load("wide-pointers"))
    assert finding.confidence == confidence
    assert ("app is a library" in finding.remedy_in("C")) is (confidence == "low")


@pytest.mark.parametrize(
    ("file", "requested", "at_least"),
    [("a.cc", 24, True), ("a.cc", 16, False), ("a.c", 24, False), ("a.rs", 24, False)],
)
def test_equal_long_texts_of_cpp_return_their_strings_too(
    made: Handmade, file: str, requested: int, at_least: bool
) -> None:
    shape = made.blocks(made.stack(f"copy@{file}:1"), requested, 24, total=1000, peak=1000, end=1000)
    blocks = [(shape, 4096 + 32 * i, {"digest": i % 4, "content_class": "text"}) for i in range(1000)]
    made.snapshot("peak", blocks)
    made.snapshot("exit", blocks)
    recording = made.recording()
    (finding,) = recording.findings(lenses.load("duplicates"))
    assert finding.saving.peak_at_least is at_least
    assert ("std::string has them" in finding.remedy_in("C++")) is at_least
    (entry,) = [each for each in ranking(recording).first if "duplicates" in each.lenses]
    assert entry.worth.peak_at_least is at_least
    assert gains(entry, ranking(recording).whole).startswith("peak ≥" if at_least else "peak -")
    assert amounts(entry, ranking(recording).whole).startswith("at least" if at_least else ("about", "1"))
