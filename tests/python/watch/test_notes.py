"""Notes beside final snapshots: written by the watcher, read from a folder that others may write into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tare.watch import notes
from tare.watch.oom import Verdict

NOTE = notes.Note("killed", "app", 7, "7-a", 1e6, 1e4, 4096, 1, 2, 3, "", Verdict("yes", "/g", 1, 2, 1, None), 9)


def test_a_note_is_read_as_it_was_written() -> None:
    assert notes.unpacked(notes.packed(NOTE)) == NOTE


@pytest.mark.parametrize(
    "change",
    [
        {"pid": "7"},
        {"pid": True},
        {"live_bytes": float("nan")},
        {"live_bytes": 1e300},
        {"program": "x" * 5000},
        {"oom": {}},
        {"oom": None},
        {"reason": None},
    ],
)
def test_a_foreign_note_is_none(change: dict[str, Any]) -> None:
    assert notes.unpacked(json.dumps({**json.loads(notes.packed(NOTE)), **change}).encode()) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"[" * 60_000, b"\xff", b" " * 70_000])
def test_garbage_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.tare.note").write_bytes(data)
    assert notes.beside(str(tmp_path / "a.tare")) is None
    assert notes.beside(str(tmp_path / "b.tare")) is None


def test_a_folder_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "a.tare.note").mkdir()
    assert notes.beside(str(tmp_path / "a.tare")) is None
