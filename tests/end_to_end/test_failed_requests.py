"""The request that failed before a program ended: small programs with a limited address space, and real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]
GIB = 1 << 30
LAST = "select * from failed_requests order by last_number desc"


def run_limited(tare: Tare, *command: str | Path, options: tuple[str, ...] = ()) -> str:
    """The words of stderr of a run with 1 GiB of address space."""
    limited = ("sh", "-c", f'ulimit -v {GIB // 1024}; exec "$@"', "sh", *command)
    return " ".join(tare("run", "-o", "a.tare", *options, "--", *limited).stderr.split())


def traces_of(tare: Tare, program: str) -> list[Path]:
    """The traces of a program's processes, by process id."""
    found = {}
    for path in (tare.folder / "a.tare", *tare.others("a.tare")):
        (process,) = tare.sql(path, "select program, pid, forked from process")
        if process["program"] == program:
            found[process["forked"], process["pid"]] = path
    return [path for _, path in sorted(found.items())]


@pytest.mark.parametrize("options", [(), ("--content",), ("--sample", "64K")], ids=" ".join)
def test_an_uncaught_bad_alloc_is_named(tare: Tare, program: Build, options: tuple[str, ...]) -> None:
    text = run_limited(tare, program("out_of_memory.cc"), "abort", options=options)
    (trace,) = traces_of(tare, "out_of_memory")
    last, first = tare.sql(trace, LAST)
    assert (last["api"], last["requests"], last["last_requested_bytes"]) == ("malloc", 1, 8 * GIB)
    assert (first["requests"], first["max_requested_bytes"], first["last_number"]) == (3, 9 * GIB, 3)
    line = "the last request that failed: malloc of 8.00 GiB in build_index"
    assert "--sample" in options or (line in text and "(4 requests failed)" in text)
    assert line in " ".join(tare("report", trace).stdout.split())
    listed = tare.report(trace)["failed_requests"]
    assert [(each["function"].partition("(")[0], each["requests"]) for each in listed] == [
        ("build_index", 1),
        ("load_table", 3),
    ]
    (facts,) = tare.sql(trace, "select impossible_events, dropped_events, peak_gross_bytes from process")
    assert (facts["impossible_events"], facts["dropped_events"]) == (0, 0)
    assert facts["peak_gross_bytes"] < GIB, "a failed request isn't a block"


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_a_status_and_sigkill_show_it_too(tare: Tare, program: Build, how: str) -> None:
    text = run_limited(tare, program("out_of_memory.cc"), how)
    assert "the last request that failed: malloc of 9.00 GiB in load_table" in text
    assert "(3 requests failed)" in text


def test_a_forked_child_has_its_own(tare: Tare, program: Build) -> None:
    run_limited(tare, program("out_of_memory.cc"), "fork")
    parent, child = traces_of(tare, "out_of_memory")
    assert tare.sql(parent, LAST) == []
    (row,) = tare.sql(child, LAST)
    assert (row["api"], row["last_requested_bytes"]) == ("malloc", 9 * GIB)


def test_python(tare: Tare) -> None:
    done = tare("run", "-o", "p.tare", "--", "/usr/bin/python3", "-c", "bytearray(1 << 47)")
    assert done.returncode == 1 and "MemoryError" in done.stderr
    assert "the last request that failed: realloc of 128 TiB in <module> <string>:1" in " ".join(done.stderr.split())
    last = tare.sql(tare.folder / "p.tare", LAST)[0]
    assert 1 << 47 <= last["last_requested_bytes"] <= (1 << 47) + 64


def test_sqlite(tare: Tare) -> None:
    text = run_limited(tare, "sqlite3", ":memory:", "select length(hex(zeroblob(450000000)))")
    assert "out of memory" in text
    (trace,) = traces_of(tare, "sqlite3")
    assert tare.sql(trace, LAST)[0]["last_requested_bytes"] >= 450_000_000
