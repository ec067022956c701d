"""Lenses on recorded programs: small ones whose waste is known to the byte, and real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def findings(tare: Tare, trace: Path, lens: str) -> dict[str, dict[str, Any]]:
    """Of one lens, by the function that is named."""
    return {f["function"]: f for f in tare.report(trace, "--lens", lens)["findings"] if f["lens"] == lens}


@pytest.fixture
def keeping(tare: Tare, program: Build) -> Path:
    return tare.record(program("keeping.c"), options=("--snapshots",))


def test_pointers_of_a_tree_take_half_of_it(tare: Tare, keeping: Path) -> None:
    found = findings(tare, keeping, "wide-pointers")
    node = found["make_node"]
    assert node["bytes_end"] == 39_999 * (48 - 32)  # glibc: 40 bytes take 48, the 24 that are left 32
    assert "80% of the words" in node["remedy"]
    assert "fill_cache" not in found
    (row,) = tare.sql(keeping, "select max(fields) as fields, min(packed_bytes) as packed from pointer_words"
                      " where requested_bytes = 40")  # fmt: skip
    assert row == {"fields": 4, "packed": 24}


def test_what_is_filled_once_is_a_hoard_and_what_is_reused_is_not(tare: Tare, keeping: Path) -> None:
    found = findings(tare, keeping, "hoards")
    assert found["fill_cache"]["bytes_end"] >= 0.9 * 512 * 65552
    assert "work" not in found


def test_of_python_on_malloc(tare: Tare) -> None:
    code = "x = [{'id': i, 'tags': [i, i + 1]} for i in range(30000)]; import time; time.sleep(1.5)"
    trace = tare.record("/usr/bin/python3", "-c", code, options=("--snapshots",), env={"PYTHONMALLOC": "malloc"})
    (seen,) = tare.sql(
        trace,
        "select sum(p.words) as words, sum(start_pointers + interior_pointers) as pointers from pointer_words p"
        " join snapshots m on m.snapshot = p.snapshot where m.kind = 'peak'",
    )
    assert 0.15 < seen["pointers"] / seen["words"] < 0.6  # a fifth to a half of Python's heap points into it
    assert "twins" not in tare.report(trace)["lenses_run"]  # a second walk over the trace has to be asked for
    report = tare.report(trace, "--lens", "twins,wide-pointers")
    assert {"twins", "wide-pointers", "hoards"} <= set(report["lenses_run"])
    # a list's object and its array, a dictionary's object and its keys
    twins = tare.sql(trace, "select sum(pairs) as pairs from twins")
    assert twins[0]["pairs"] >= 30_000
    for moment in ("peak", "end"):
        assert report[moment]["gross_bytes"] == report[moment]["net_bytes"] + report[moment]["tare_bytes"]
        assert report[moment]["net_bytes"] >= 0


def test_nobody_read_the_cache_either(tare: Tare, keeping: Path) -> None:
    """If the kernel reports touched pages; otherwise the finding stays unsure."""
    (touched,) = tare.sql(
        keeping,
        "select sum(touched_bytes) as bytes from resident r join snapshots m on m.snapshot = r.snapshot"
        " where r.kind = 'heap' and m.kind = 'exit'",
    )
    hoard = findings(tare, keeping, "hoards")["fill_cache"]
    if touched["bytes"] < 10_000_000:
        assert hoard["confidence"] == "high"  # if no candidate has enough of the cache, the exit has all of it
        assert "The kernel reports" in hoard["remedy"]


def test_the_parts_of_the_resident_memory_add_up(tare: Tare, keeping: Path) -> None:
    done = tare("report", keeping, "--mode", "rss", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sum(part["resident_bytes"] for part in found["parts"]) == found["resident_bytes"]
    assert found["resident_bytes"] <= 1.05 * found["peak_rss_bytes"]  # which the kernel counts in batches
    heap = found["heap"]
    assert heap["requested_bytes"] > 40_000 * 40 + 512 * (65536 + 4096)
    (resident,) = (part["resident_bytes"] for part in found["parts"] if part["kind"] == "heap")
    parts = ("requested_bytes", "slop_bytes", "header_bytes", "kept_bytes")
    assert sum(heap[name] for name in parts) - heap["absent_bytes"] == resident
    assert {"file", "stack", "recorder"} <= {part["kind"] for part in found["parts"]}
    text = tare("report", keeping, "--mode", "rss").stdout
    assert len(text.splitlines()) < 40


def test_a_recording_without_looks_has_no_rss_mode(tare: Tare) -> None:
    trace = tare.record("/usr/bin/python3", "-c", "pass")
    done = tare("report", trace, "--mode", "rss")
    assert done.returncode == 2
    assert "--snapshots" in done.stderr


def test_a_summary_judges_the_callers_of_a_function_apart(tare: Tare, program: Build) -> None:
    """As the report does: full texts of 32 bytes hid the tables, which the same function allocates."""
    done = tare("run", "--content", "-o", "a.tare", "--", program("two_callers.c"))
    (line,) = (line for line in done.stderr.splitlines() if "unwritten; a type" in line)
    assert "3.97 MiB (exact)" in line
    first = json.loads(tare("report", "a.tare", "--json").stdout)["do_first"]["list"]
    (entry,) = (entry for entry in first if "unwritten" in entry["lenses"])
    assert entry["function"] == "sized"
    assert entry["callers"][0]["function"] == "tables"
