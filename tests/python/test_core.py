"""The front end over the real core: a recorded run gives the tables that the schema promises, and every verb answers."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tare import lenses, schema

_core = pytest.importorskip("tare._core", reason="the extension module isn't built")

from tare.analysis.quick_recording import quick_lenses  # noqa: E402
from tare.analysis.recording import Recording  # noqa: E402
from tare.source.core_source import _SNAPSHOT_TABLES, _WALKS, CoreSource  # noqa: E402
from tare.source.small_database import SmallDatabase  # noqa: E402

WORK = "import json\nkept = json.loads(json.dumps([{'k%d' % i: i} for i in range(20000)]))\nprint(len(kept))"


def tare(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=120)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "json.tare"
    done = tare("run", "--content", "-o", path, "--", sys.executable, "-c", WORK, PYTHONMALLOC="malloc")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "20000\n"
    assert "next: tare report" in done.stderr
    assert not Path(f"{path}.cache").exists()
    return path


def test_every_table_is_as_the_schema_says(trace: Path) -> None:
    recording = Recording(CoreSource(str(trace)))
    for table in schema.TABLES:
        recording.database.use(table.name)
        found = recording.database.rows(f"select column_name, column_type from (describe {table.name})")
        assert found == [(column.name, column.type) for column in table.columns], table.name
    # this program reports nothing, has no pools, isn't looked into, has no type in a wasteful order and unwind tables everywhere, and
    # with contents no call is timed, and it gets all that it requests
    others = {"type_sites", "call_costs", "unwind_gaps", "failed_requests"}
    filled = schema.BY_NAME.keys() - set(_WALKS["reading reports"]) - set(_SNAPSHOT_TABLES) - others
    assert all(recording.database.row(f"select count(*) from {name}")[0] for name in filled)


def test_the_core_has_no_table_or_column_that_the_schema_forgets(trace: Path) -> None:
    recording = _core.open(str(trace), None, lambda *_: None)
    recording.find_sites(8)
    walked = [name for names in _WALKS.values() for name in names]
    for table in schema.TABLES:
        if table.name in (
            "blocks",
            "frames",
            "sites",
            "stack_sites",
            "size_classes",
            "twins",
            "type_sites",
            *walked,
            *_SNAPSHOT_TABLES,
        ):
            continue
        made = {name for name, _ in recording.table(table.name).columns}
        assert made == {column.name for column in table.columns}, table.name
    for tables, _ in (recording.snapshot_tables(False, []), recording.twin_tables(False, lambda *_: None)):
        for made_table in tables:
            columns = [column.name for column in schema.BY_NAME[made_table.name].columns]
            assert [name for name, _ in made_table.columns] == columns, made_table.name


def test_blocks_agree_with_the_small_tables(trace: Path) -> None:
    database = Recording(CoreSource(str(trace))).database
    database.use("blocks", "site_sizes", "process")
    from_blocks = database.row(
        "select count(*), sum(requested_bytes), sum(case when freed_ns is null then 1 else 0 end) from blocks"
    )
    assert from_blocks == database.row("select total_blocks, total_requested_bytes, end_blocks from process")
    assert from_blocks[:2] == database.row(
        "select sum(total_blocks), sum(total_blocks * requested_bytes) from site_sizes"
    )


def test_text_and_arrow_make_the_same_table(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tare.source import core_source

    tables: list[list[tuple[Any, ...]]] = []
    for limit in (core_source._TEXT_ROWS, 0):
        monkeypatch.setattr(core_source, "_TEXT_ROWS", limit)
        database = Recording(CoreSource(str(trace))).database
        database.use("site_sizes", "process", "modules", "frames")
        tables.append(
            [
                row
                for name in ("site_sizes", "process", "modules", "frames")
                for row in database.rows(f"select * from {name}")
            ]
        )
    assert tables[0] == tables[1]


def test_folding_by_line_changes_no_sum(trace: Path) -> None:
    # Blocks of a snapshot near the peak are bounded by the blocks at the peak, shape by shape: a line's bound is another.
    # Twins are pairs of sites: of lines they are other pairs. Whether a stack grows buffers, a line's other stacks don't say.
    # Unwritten bytes are judged by the site: a line of Python has several, one for each way to it.
    others = ("twins", "headroom", "unwritten")
    exact = [lens.name for lens in lenses.load_all() if lens.needs != "snapshots" and lens.name not in others]
    by_stack, by_line = (Recording(CoreSource(str(trace), detail=detail), exact) for detail in ("stack", "line"))
    columns = [
        c.name
        for c in schema.BY_NAME["site_sizes"].columns
        if c.name.endswith("_blocks") or c.name.startswith("freed_")
    ]
    sums = (
        ", ".join(f"sum({c})" for c in columns)
        + ", sum(total_blocks * requested_bytes), sum(peak_blocks * usable_bytes)"
    )
    found = []
    for recording in (by_stack, by_line):
        recording.database.use("site_sizes", "growth")
        counts = recording.database.row(f"select {sums} from site_sizes")
        steps = recording.database.row("select sum(steps), count(*) from growth")
        byte_ns = recording.database.row("select sum(byte_ns) from site_sizes")
        found.append((counts, steps, round(byte_ns[0] / 1e9)))
    assert found[0] == found[1]
    assert by_stack.ledger.tare_bytes() == by_line.ledger.tare_bytes()
    for a, b in zip(by_stack.ledger.lenses, by_line.ledger.lenses, strict=True):
        left, right = (
            r.ledger.findings(lens, by="site_location_id", all_claims="all")
            for r, lens in ((by_stack, a), (by_line, b))
        )
        measure = {
            "bytes": "bytes_peak",
            "copied": "calls",
            "calls": "calls",
            "end": "bytes_end",
            "unwritten": "bytes_peak",
        }[a.unit]
        assert {(f.site_location_id, getattr(f, measure)) for f in left} == {
            (f.site_location_id, getattr(f, measure)) for f in right
        }, a.name


MANY_SIZES = """
import random
random.seed(1)
kept = [bytes(random.randrange(40000)) for _ in range(2000)]
more = [bytes(random.randrange(40000)) for _ in range(2000)]
small = [{str(i)} for i in range(20000)]
for _ in range(3):
    gone = [bytes(random.randrange(40000)) for _ in range(9000)]
"""


def test_joining_sizes_changes_nothing_that_the_summary_says(tmp_path: Path) -> None:
    path = tmp_path / "sizes.tare"
    command = ("run", "-q", "-o", path, "--", sys.executable, "-c", MANY_SIZES)
    assert tare(*command, PYTHONMALLOC="malloc").returncode == 0
    source = CoreSource(str(path), depth=1)
    lines, bands = source.by_line(), source.in_bands()
    assert bands.count("site_sizes") * 2 < lines.count("site_sizes")
    names = [lens.name for lens in quick_lenses(source.process())]
    exact, joined = Recording(lines, names), Recording(bands, names, SmallDatabase)
    for moment in ("peak", "end", "total"):
        for figure in ("gross_bytes", "net_bytes", "tare_bytes"):
            assert getattr(joined.moments[moment], figure) == getattr(exact.moments[moment], figure), (moment, figure)
    shown = 0
    for lens in exact.ledger.lenses:
        found = [list(each.ledger.findings(lens, by="site_location_id", limit=3)) for each in (exact, joined)]
        shown += len(found[0])
        for mine, others in zip(*found, strict=True):
            assert (others.site_location_id, others.remedy_in("C"), others.confidence) == (
                mine.site_location_id,
                mine.remedy_in("C"),
                mine.confidence,
            )
            assert (others.calls, others.sites) == (mine.calls, mine.sites)
            assert round(others.bytes_end or 0) == round(mine.bytes_end or 0) or lens.name == "churn"
    assert shown >= 2


def test_net_tare_and_gross_are_the_processs_own(trace: Path) -> None:
    recording = Recording(CoreSource(str(trace)))
    totals = recording.ledger.totals
    assert totals.gross_peak == recording.process["peak_gross_bytes"]
    assert totals.gross_end == recording.process["end_gross_bytes"]
    moment = recording.moments["peak"]
    assert moment.net_bytes is not None and 0 < moment.net_bytes < moment.gross_bytes


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [[], ["--at", "end"], ["--at", "HALF"], ["--mode", "cumulative", "--sort", "byte-seconds"], ["--depth", "1"]],
)
def test_reports(trace: Path, arguments: list[str]) -> None:
    half = Recording(CoreSource(str(trace))).process["peak_time_ns"] / 2
    arguments = [f"{half}ns" if word == "HALF" else word for word in arguments]
    text = tare("report", trace, *arguments)
    assert text.returncode == 0, text.stderr
    assert "\x1b" not in text.stdout and max(map(len, text.stdout.splitlines())) <= 120
    loaded = json.loads(tare("report", trace, "--json", *arguments).stdout)
    assert loaded["records"]["list"] and loaded["impossible_events"] == 0
    if f"{half}ns" in arguments:
        assert 0 < loaded["at"]["gross_bytes"] < loaded["peak"]["gross_bytes"]
        assert loaded["records"]["gross_bytes"] == loaded["at"]["gross_bytes"]


def test_a_trace_doesnt_differ_from_itself(trace: Path) -> None:
    done = tare("diff", trace, trace)
    assert done.returncode == 0, done.stderr
    assert "(no change)" in done.stdout.splitlines()


def test_sql_at_a_prompt(trace: Path) -> None:
    """On a terminal: a statement may span lines, a mistake doesn't end the session, Ctrl-D does."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "tare", "sql", str(trace)]
    session = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env={**os.environ, "TERM": "dumb"})
    os.close(inner)
    seen = ""

    def wait_for(words: str) -> None:
        nonlocal seen
        while words not in seen:
            assert select.select([outer], [], [], 60)[0], seen
            seen += os.read(outer, 65536).decode()
        seen = seen.partition(words)[2]

    wait_for("tare> ")
    os.write(outer, b".tables\n")
    wait_for("site_sizes ")
    wait_for("tare> ")
    os.write(outer, b".tabels\n")
    wait_for(".tables?")
    wait_for("tare> ")
    os.write(outer, b"select 40 + 2 as answer,\n")
    wait_for("   ...> ")
    os.write(outer, b"count(*) > 100 as many from frames;\n")
    wait_for("answer  many")
    wait_for("42  True")
    wait_for("(1 row)")
    os.write(outer, b"select nonsense;\n")
    wait_for("tare: ")
    wait_for("nonsense")
    wait_for("tare> ")
    os.write(outer, b"\x04")
    assert session.wait(60) == 0
    os.close(outer)


def test_sql_from_the_input(trace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tare", "sql", str(trace), "--json"],
        input="select count(*) as n\nfrom frames;\n",
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)[0]["n"] > 100, done.stderr
    wrong = tare("sql", trace, "select x from y")
    assert wrong.returncode == 5 and wrong.stderr.startswith("tare: ") and wrong.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["report", "/nonexistent.tare"], 4, "/nonexistent.tare"),
        (["report", __file__], 2, "test_core.py"),
        (["run", "--", "./no-such-program"], 127, "no-such-program"),
        (["run", "--sample", "lots", "--", "true"], 125, "--sample"),
        (["run", "-o", "/proc/nonexistent/x.tare", "--", "true"], 125, "/proc/nonexistent/x.tare"),
        (["run"], 125, "CMD"),
        (["counts", "--model", "nosuch", "TRACE"], 2, "jemalloc-2011"),
        (["report", "--lens", "leeks", "TRACE"], 2, "leaks"),
        (["recrod"], 2, "recrod"),
    ],
)
def test_failures_are_one_line_and_a_status(trace: Path, arguments: list[str], status: int, words: str) -> None:
    done = tare(*[str(trace) if word == "TRACE" else word for word in arguments])
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("tare: ") and done.stderr.count("\n") == 1 and words in done.stderr


def test_the_programs_end_is_repeated(tmp_path: Path) -> None:
    assert tare("run", "-q", "-o", tmp_path / "a", "--", "sh", "-c", "exit 7").returncode == 7
    assert tare("run", "-q", "-o", tmp_path / "b", "--", "sh", "-c", "kill -TERM $$").returncode == -15
    killed = tare("run", "-o", tmp_path / "c", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert killed.returncode == -9
    assert "killed by signal 9" in killed.stderr


def test_compare_counts_mallocs(tmp_path: Path) -> None:
    pairs = [[sys.executable, "-c", f"x = [bytes(5000) for _ in range({n})]"] for n in (1000, 9000)]
    done = tare("compare", "--runs", "1", "--json", "--", *pairs[0], "--", *pairs[1])
    assert done.returncode == 0, done.stderr
    calls = next(r for r in json.loads(done.stdout)["ratios"] if r["metric"] == "malloc calls")
    assert calls["after"] - calls["before"] >= 8000


def test_every_kind_of_error_has_a_status() -> None:
    assert _core.ERRORS["Usage"][0] == 2
    assert all(status and meaning for status, meaning in _core.ERRORS.values())


@pytest.mark.parametrize(
    ("model", "requested", "usable", "clownshoe"),
    [
        ("jemalloc-2011", 1025, 2048, 1),
        ("jemalloc-2011", 680, 1024, 0),
        ("jemalloc-2011", 4135, 8192, 1),
        ("glibc", 24, 24, 0),
    ],
)
def test_models_price_requests(
    trace: Path, model: str, requested: int, usable: int, clownshoe: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model in [name for name, _ in _core.size_models()]
    database = Recording(CoreSource(str(trace), model=model)).database
    database.use("size_classes")
    found = database.rows(f"select usable_bytes, clownshoe from size_classes where requested_bytes = {requested}")
    assert found in ([], [(usable, clownshoe)])  # the program may not have asked for that size
