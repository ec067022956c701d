"""Series over commits: kept a line each, drawn with their course."""

from __future__ import annotations

from pathlib import Path

import pytest
from tare.analysis import series
from tare.analysis.series import Entry
from tare.errors import TareError
from tare.text.terminal import Style


def test_the_score_is_the_geometric_mean() -> None:
    assert Entry("a", {"peak": 100.0, "end": 4.0}).score == pytest.approx(20)


def test_entries_are_kept_and_drawn(tmp_path: Path) -> None:
    path = str(tmp_path / "heap.jsonl")
    assert series.read(path) == []
    for label, peak in (("a1", 1000.0), ("b2", 2000.0), ("c3", 1500.0)):
        series.append(path, Entry(label, {"peak": peak, "end": 10.0}))
    entries = series.read(path)
    assert [entry.label for entry in entries] == ["a1", "b2", "c3"]
    with open("/dev/null") as nowhere:
        head, peak_line, end_line, score = series.lines(entries, 80, Style(nowhere))
    assert head == "3 recordings, a1 to c3"
    assert "▁█▅" in peak_line
    assert peak_line.endswith("1.46 KiB  -25.0%")
    assert "▁▁▁" in end_line
    assert score.startswith("geometric mean")


def test_a_series_of_one_is_one_recording() -> None:
    assert series.heading([Entry("a1", {"end": 10.0})]) == "1 recording, a1"


def test_what_isnt_a_series_is_said(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"label": "a", "checkpoints": {"peak": 1}}\n{}\n')
    with pytest.raises(TareError, match=r"other\.jsonl:2 isn't a line that --series wrote"):
        series.read(str(path))
