"""Imports of small files: sums, names and what the source doesn't have."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from goldens import DHAT, HEAPTRACK, JEMALLOC, LTRACE, MASSIF, MEMRAY, MEMRAY_NATIVE, PPROF, RAW, TCMALLOC
from importing import Imported
from tare.analysis.recording import Recording
from tare.cli import main
from tare.html.sums import stack_columns

Make = Callable[..., Imported]


def test_heaptrack_has_each_event_with_inlined_names(imported: Make) -> None:
    made = imported(HEAPTRACK)
    process = made.process
    assert (process["alloc_events"], process["free_events"], process["realloc_events"]) == (4, 2, None)
    assert (process["total_requested_bytes"], process["peak_requested_bytes"], process["end_requested_bytes"]) == (
        228,
        128,
        96,
    )
    assert (process["duration_ns"], process["peak_rss_bytes"]) == (40_000_000, 16 * 4096)
    assert (process["program"], process["command_line"], process["imported_from"]) == (
        "app",
        "./app --flag",
        "heaptrack 1.4.0",
    )
    assert made.stacks() == {("leaf", "caller", "main"): (100, 0, 0), ("caller", "main"): (128, 128, 96)}


def test_a_command_is_shown_as_the_file_has_it(imported: Make) -> None:
    made = imported(HEAPTRACK.replace(b"X ./app --flag", b"X ./app -e say \"a b\";  'it's'"))
    assert made.process["command_line"] == "./app -e say \"a b\";  'it's'"
    recording = Recording(made.source)
    recording.database.use("process")
    assert recording.database.row("select command_line from process") == ("./app -e say \"a b\";  'it's'",)


def test_unknown_sizes_are_null_never_0(imported: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = imported(HEAPTRACK).path

    def output(*command: str) -> str:
        assert main([*command]) == 0
        return capsys.readouterr().out

    report = json.loads(output("report", str(path), "--json"))
    for moment in ("peak", "end", "total"):
        assert [report[moment][key] for key in ("usable_bytes", "tare_bytes", "net_bytes")] == [None] * 3
        assert report[moment]["gross_bytes"] == report[moment]["requested_bytes"]
    assert report["records"]["list"]
    for record in report["records"]["list"]:
        assert (record["slop_bytes"], record["usable_bytes"], record["sizes"][0]["usable_bytes"]) == (None, None, None)
    text = output("report", str(path))
    assert "0 B headers" not in text and "? slop / ? headers" in text
    assert re.search(r"^- tare +\? +\?$", text, re.MULTILINE) and re.search(r"^= net +\? +\?$", text, re.MULTILINE)
    row = json.loads(output("sql", str(path), "select peak_usable_bytes, peak_gross_bytes from process", "--json"))
    assert row == [{"peak_usable_bytes": None, "peak_gross_bytes": 128}]
    budget = path.with_suffix(".toml")
    budget.write_text("[budget]\n'peak.tare_bytes' = 1\n")
    assert main(["check", str(path), "--budget", str(budget)]) == 2
    assert "heaptrack 1.4.0 doesn't record" in capsys.readouterr().err


def test_an_address_in_a_file_without_start_is_no_offset(imported: Make) -> None:
    line = b"i 55c149ef9110 1\n"
    content = HEAPTRACK.replace(HEAPTRACK[(at := HEAPTRACK.index(b"\ni ") + 1) : HEAPTRACK.index(b"\n", at) + 1], line)
    made = imported(content)
    names = {name for stack in made.stacks() for name in stack}
    assert "0x55c149ef9110" in names
    recording = Recording(made.source)
    recording.database.use("frames")
    assert recording.database.row("select count(module_offset) from frames where module_offset > 4294967295") == (0,)


def test_a_command_may_have_several_lines(imported: Make) -> None:
    process = imported(HEAPTRACK.replace(b"X ./app --flag", b"X ./app -c \nimport x\n+ 0\nI am")).process
    assert process["total_requested_bytes"] == 228
    assert "import x" in process["command_line"]


def test_a_raw_file_has_addresses_and_frees_of_older_blocks_are_left_out(imported: Make) -> None:
    process = imported(RAW).process
    assert (process["alloc_events"], process["free_events"], process["pre_existing_frees"]) == (3, 1, 0)
    assert (process["total_requested_bytes"], process["peak_requested_bytes"], process["end_requested_bytes"]) == (
        148,
        132,
        48,
    )
    assert "pairs" not in process["missing_facts"]
    assert imported(gzip.compress(RAW)).process["end_requested_bytes"] == 48


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # blocks and bytes over the run, at the peak, at the end
        (DHAT, [17, 1070, 3, 300, 1, 100]),
        (PPROF, [17, 1070, 3, 300, 3, 300]),
        (JEMALLOC, [10, 1280, 3, 384, 3, 384]),
        (TCMALLOC, [10, 1000, 3, 300, 3, 300]),
        (MASSIF, [3, 1000, 3, 1000, 3, 1000]),
    ],
)
def test_sums_are_those_of_the_profile_and_the_course_is_null(
    imported: Make, content: bytes, expected: list[int]
) -> None:
    made = imported(content)
    process = made.process
    found = [process[f"{when}_{what}"] for when in ("total", "peak", "end") for what in ("blocks", "requested_bytes")]
    assert found == expected
    assert [process[name] for name in ("duration_ns", "peak_time_ns", "events", "alloc_events", "threads")] == [
        None
    ] * 5
    recording = Recording(made.source)
    recording.database.use("site_sizes", "timeline", "blocks", "growth")
    nulls = "count(lifetime_ns), count(byte_ns), count(freed_within_16), count(freed_later)"
    assert recording.database.row(f"select {nulls} from site_sizes") == (0, 0, 0, 0)
    assert [recording.database.row(f"select count(*) from {name}")[0] for name in ("timeline", "blocks", "growth")] == [
        0
    ] * 3


def test_names_of_sums(imported: Make) -> None:
    assert imported(DHAT).stacks() == {("leaf", "main"): (1000, 300, 100), ("main",): (70, 0, 0)}
    assert imported(PPROF).stacks() == {("leaf", "caller", "main"): (1000, 300, 300), ("main",): (70, 0, 0)}
    assert imported(MASSIF).stacks() == {("leaf", "main"): (600,) * 3, ("leaf",): (300,) * 3, (): (100,) * 3}
    assert imported(JEMALLOC).stacks() == {
        ("app+0x1000", "app+0x2000"): (1024, 256, 256),
        ("app+0x3000",): (256, 128, 128),
    }


def test_calls_have_threads_entry_points_and_reallocs(imported: Make) -> None:
    made = imported(LTRACE)
    process = made.process
    assert (process["alloc_events"], process["free_events"], process["realloc_events"], process["threads"]) == (
        3,
        1,
        1,
        2,
    )
    assert (process["end_requested_bytes"], process["peak_requested_bytes"]) == (350, 450)
    assert process["duration_ns"] == 500_000_000
    rows = made.source._recording.table("site_sizes").values("api")
    assert sorted(rows) == ["calloc", "malloc", "malloc", "realloc"]
    without_times = imported(b"malloc(5) = 0x10\n").process
    assert (without_times["duration_ns"], without_times["peak_time_ns"], without_times["events"]) == (None, None, 1)


def test_reports_state_what_the_file_lacks(imported: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(imported(DHAT).path)
    assert main(["report", path]) == 0
    out = capsys.readouterr().out
    assert "app (pid 4711), imported from DHAT" in out
    assert "the file has no single events" in " ".join(out.split())
    assert "300 B gross (300 B requested / ? slop / ? headers)" in out
    assert main(["report", path, "--lens", "slop"]) == 2
    assert "facts that DHAT doesn't record (usable)" in capsys.readouterr().err
    assert main(["replay", path]) == 2
    for verb in (
        ["diff", path, path],
        ["model", path],
        ["counts", path],
        ["report", path, "--json"],
        ["export", path, "--to", "folded"],
    ):
        assert main(verb) == 0, verb


@pytest.mark.parametrize("content", [DHAT, MASSIF, HEAPTRACK, b"malloc(5) = 0x10\n"])
def test_pages_are_written_without_what_is_unknown(imported: Make, content: bytes, tmp_path: Path) -> None:
    made, page = imported(content), tmp_path / "page.html"
    path = str(made.path)
    for verb in (["report", path], ["diff", path, path]):
        assert main([*verb, "--html", "-o", str(page)]) == 0
        assert page.stat().st_size > 10_000
    measures = {column.measure.key for column in stack_columns(Recording(made.source))}
    assert "peak.gross" in measures
    assert "peak.slop" not in measures
    assert ("total.time" in measures) == (content is HEAPTRACK)


def test_what_is_exported_comes_back(imported: Make, tmp_path: Path) -> None:
    first = imported(DHAT)
    for to in ("pprof", "dhat"):
        assert main(["export", str(first.path), "--to", to, "-o", str(tmp_path / to)]) == 0
    assert imported(tmp_path / "dhat").stacks() == first.stacks()
    # pprof has the use at the peak, and no other time
    assert {stack: sums[:2] for stack, sums in imported(tmp_path / "pprof").stacks().items()} == {
        stack: sums[:2] for stack, sums in first.stacks().items()
    }


@pytest.mark.parametrize("content", [MEMRAY, MEMRAY_NATIVE])
def test_memray_has_python_frames_and_mappings(imported: Make, content: bytes) -> None:
    made = imported(content)
    process = made.process
    assert (process["program"], process["pid"], process["peak_rss_bytes"]) == ("app.py", 4711, 8192)
    assert process["duration_ns"] == 50_000_000
    # the half of the mapping that stays counts as a block of its own
    assert (process["total_requested_bytes"], process["peak_requested_bytes"], process["end_requested_bytes"]) == (
        100 + 30 + 8192 + 4096,
        8222,
        30 + 4096,
    )
    assert made.stacks() == {("leaf", "main"): (100, 0, 0), ("main",): (30 + 8192 + 4096, 8222, 4126)}
    frames = made.source._recording.frames_table()
    assert sorted(zip(frames.values("function"), frames.values("file"), frames.values("line"), strict=True)) == [
        ("leaf", "app.py", 30),
        ("main", "app.py", 11),
    ]
