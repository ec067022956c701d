"""The JSON report: the keys that scripts rely on, whole numbers, null for what isn't known."""

from __future__ import annotations

import json
from typing import Any

from handmade import Handmade
from tare import lenses
from tare.analysis import records
from tare.reports import json_report

FINDING = {
    "lens", "function", "file", "line", "stack", "blocks", "bytes_peak", "bytes_end", "bytes_total", "byte_seconds", "calls",
    "confidence", "remedy", "gain_peak_bytes", "gain_cpu_ns", "gain_peak_exact", "gain_evidence", "effort", "at_least", "samples",
}  # fmt: skip
MOMENT = {"blocks", "requested_bytes", "usable_bytes", "gross_bytes", "net_bytes", "tare_bytes"}
TOP = {
    "program", "pid", "allocator", "events", "impossible_events", "dropped_events", "pre_existing_frees", "lenses_run", "peak",
    "end", "total", "findings", "do_first", "snapshot",
}  # fmt: skip


def report(made: Handmade, chosen: str = "") -> dict[str, Any]:
    recording = made.recording()
    page = records.query(recording, "peak_blocks", "usable", [], None)
    loaded: dict[str, Any] = json.loads(
        json_report.dump(json_report.report(recording, page, lenses.load_named(chosen), {"mode": "live"}))
    )
    return loaded


def test_the_contract(busy: Handmade) -> None:
    got = report(busy)
    assert got.keys() >= TOP
    for moment in ("peak", "end", "total"):
        assert got[moment].keys() >= MOMENT
        assert all(value is None or isinstance(value, int) for value in got[moment].values())
    assert got["peak"]["time_ns"] == 1_000_000_000
    assert got["total"]["net_bytes"] is None and got["total"]["tare_bytes"] is None
    assert got["peak"]["gross_bytes"] == got["peak"]["net_bytes"] + got["peak"]["tare_bytes"]
    assert got["lenses_run"] == ["slop", "headers", "growth", "churn", "twins", "padding", "mappings", "unshared"]
    assert got["findings"]
    for finding in got["findings"]:
        assert finding.keys() >= FINDING
        assert finding["confidence"] in ("high", "medium", "low")
    slop = next(each for each in got["findings"] if each["lens"] == "slop")
    assert (slop["lens"], slop["function"], slop["file"], slop["line"]) == ("slop", "arena_grow", "/src/arena.c", 40)
    assert [frame["function"] for frame in slop["stack"]] == ["arena_grow", "parse", "main"]


def test_unknown_is_null(made: Handmade) -> None:
    made.blocks(made.stack("?", "main"), 1032, 2040, total=100, peak=100)
    made.size_class(1032, 2040, 1016, clownshoe=1)
    (finding, *_) = report(made)["findings"]
    assert finding["function"] is None and finding["file"] is None and finding["line"] is None
    assert finding["stack"][0]["module"] == "/bin/app"


def test_findings_and_records_are_never_truncated(made: Handmade) -> None:
    for number in range(300):
        made.blocks(made.stack(f"f{number}", "main"), 1032, 2040, total=100, peak=100)
    made.size_class(1032, 2040, 1016, clownshoe=1)
    got = report(made)
    assert len([f for f in got["findings"] if f["lens"] == "slop"]) == 300
    assert len(got["records"]["list"]) == 300


def test_one_lens(busy: Handmade) -> None:
    assert {f["lens"] for f in report(busy, "churn")["findings"]} == {"churn"}
