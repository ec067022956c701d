"""Formats that are both exported and imported: the recording that comes back has every sum that the format has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

SUMS = [f"{when}_{what}" for when in ("total", "peak", "end") for what in ("blocks", "gross_bytes")]
# Format -> sums that its files have. pprof's blocks in use are those of the peak, and massif has bytes of one time.
KEPT = {
    "dhat": SUMS,
    "pprof": ["total_blocks", "total_gross_bytes", "peak_blocks", "peak_gross_bytes"],
    "massif": ["peak_requested_bytes"],
}


def sums(tare: Tare, trace: Path, names: list[str]) -> dict[str, int]:
    (row,) = tare.sql(trace, f"select {', '.join(names)} from process")
    return {name: round(row[name]) for name in names}


def by_function(tare: Tare, trace: Path, column: str) -> list[int]:
    """Gross bytes of each innermost function. Names aren't compared: functions without one get that of their file."""
    rows = tare.sql(
        trace,
        f"select f.function as name, sum({column} * (usable_bytes + header_bytes)) as bytes from site_sizes z"
        " join stacks s using (stack_id) join frames f on f.location_id = s.location_id and f.inline_depth = 0"
        f" where {column} > 0 group by 1",
    )
    return sorted(round(row["bytes"]) for row in rows)


@pytest.fixture(scope="module")
def trace(tare_module: Tare, program: Callable[..., Path]) -> Path:
    return tare_module.record(program("exported.cc"))


@pytest.mark.parametrize("name", KEPT)
def test_sums_come_back(name: str, tare_module: Tare, trace: Path) -> None:
    file, back = tare_module.folder / f"file.{name}", tare_module.folder / f"{name}.tare"
    assert tare_module("export", trace, "--to", name, "-o", file).returncode == 0
    assert (done := tare_module("import", file, "-o", back)).returncode == 0, done.stderr
    assert sums(tare_module, back, KEPT[name]) == sums(tare_module, trace, KEPT[name])
    if name != "massif":  # which scales gross bytes to requested ones, and joins small branches
        for column in ("total_blocks", "peak_blocks"):
            assert by_function(tare_module, back, column) == by_function(tare_module, trace, column)
    report = tare_module.report(back)  # the import's own figures
    if name != "massif":
        assert report["peak"]["gross_bytes"] == sums(tare_module, trace, ["peak_gross_bytes"])["peak_gross_bytes"]


def test_a_file_exported_again_is_the_same(tare_module: Tare, trace: Path) -> None:
    """Folded stacks of the recording and of the one that DHAT's file became."""
    file, back = tare_module.folder / "again.dhat", tare_module.folder / "again.tare"
    assert tare_module("export", trace, "--to", "dhat", "-o", file).returncode == 0
    assert tare_module("import", file, "-o", back).returncode == 0
    for measure in ("alloc_objects", "alloc_space", "inuse_space"):
        first, second = (
            sorted(tare_module("export", each, "--to", "folded", "--measure", measure).stdout.splitlines())
            for each in (trace, back)
        )
        assert first == second and first


def test_commands_read_an_import(tare_module: Tare, trace: Path) -> None:
    file, back = tare_module.folder / "read.dhat", tare_module.folder / "read.tare"
    assert tare_module("export", trace, "--to", "dhat", "-o", file).returncode == 0
    done = tare_module("import", file, "-o", back)
    assert re.search(r"imported \d+ sums into", done.stderr)
    assert "parse" in tare_module("report", back).stdout
    changes = json.loads(tare_module("diff", trace, back, "--json").stdout)
    assert changes["peak"]["gross_bytes"]["change"] == 0
    rows = {line.split("  ")[0] for line in tare_module("model", back).stdout.splitlines()}
    assert "jemalloc" in rows and "as recorded" not in rows  # the file has no usable sizes
    assert "as recorded" in tare_module("model", trace).stdout
    refused = tare_module("replay", back, "--allocator", "glibc")
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1


def test_threads_of_pprofs_samples_are_those_of_the_blocks(tare_module: Tare, trace: Path) -> None:
    import viewers

    file = tare_module.folder / "threads.pprof"
    assert tare_module("export", trace, "--to", "pprof", "-o", file).returncode == 0
    expected = tare_module.sql(trace, "select thread, count(*) as blocks from blocks group by 1 order by 1")
    assert len(expected) == 2
    for row in expected:
        shown = viewers.go_tool(file, "-raw", "-sample_index=alloc_objects", f"-tagfocus=thread:{row['thread']}$")
        body = shown.partition("Samples:")[2].partition("Locations")[0].splitlines()
        samples = [line.split() for line in body if line.strip() and line.split()[0].isdigit()]
        assert sum(int(words[0]) for words in samples) == row["blocks"]


@pytest.mark.nightly
def test_a_real_programs_sums_come_back(tare: Tare) -> None:
    trace = tare.record("/usr/bin/python3", "-c", "import json; json.dumps([{str(i): i} for i in range(20000)])")
    for name, kept in KEPT.items():
        file, back = tare.folder / f"file.{name}", tare.folder / f"{name}.tare"
        assert tare("export", trace, "--to", name, "-o", file).returncode == 0
        assert (done := tare("import", file, "-o", back)).returncode == 0, done.stderr
        assert sums(tare, back, kept) == sums(tare, trace, kept)
