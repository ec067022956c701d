"""Reports equal the allocations to the byte, for every entry point and in every process."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
MB = 1000 * 1000


def test_aligned_and_grown_blocks_count_to_the_byte(tare: Tare, program: Program) -> None:
    report = tare.report(tare.record(program("aligned_81mb.c")))
    assert report["peak"]["requested_bytes"] == 81 * MB
    assert report["peak"]["blocks"] == 3
    assert report["end"]["blocks"] == 0
    assert report["impossible_events"] == 0


def test_net_and_tare_make_up_gross(tare: Tare, program: Program) -> None:
    report = tare.report(tare.record(program("clownshoes.c")))
    for moment in ("peak", "end"):
        sums = report[moment]
        assert sums["gross_bytes"] == sums["net_bytes"] + sums["tare_bytes"]
        assert sums["gross_bytes"] >= sums["usable_bytes"] >= sums["requested_bytes"]
        assert sums["net_bytes"] >= 0
    assert report["total"]["net_bytes"] is None
    assert report["total"]["tare_bytes"] is None


def test_forked_children_have_traces_of_their_own(tare: Tare, program: Program) -> None:
    main = tare.record(program("fork_children.c"), name="f.tare")
    parent = tare.report(main)
    children = [tare.report(path) for path in tare.others("f.tare")]
    assert len(children) == 2, sorted(p.name for p in tare.folder.iterdir())
    assert parent["peak"]["requested_bytes"] == 1 * MB
    child, grandchild = sorted(children, key=lambda c: -c["total"]["requested_bytes"])
    assert child["total"]["requested_bytes"] == 7 * MB  # what it inherited isn't its own
    assert child["peak"]["requested_bytes"] == 7 * MB  # 1 MB inherited, freed before the 7
    assert grandchild["total"]["requested_bytes"] == 3 * MB
    assert grandchild["end"]["requested_bytes"] == 10 * MB  # inherited 7, own 3
    assert [c["impossible_events"] for c in (parent, child, grandchild)] == [0, 0, 0]


TIGHT_ENV = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"}


@pytest.mark.parametrize("source", ["tight_realloc.c", "tight_handoff.c"])
def test_contended_threads_replay_without_an_impossible_event(tare: Tare, program: Program, source: str) -> None:
    for run in range(10):
        report = tare.report(tare.record(program(source), name=f"{run}.tare", env=TIGHT_ENV))
        assert report["events"] > 2_000_000
        assert report["dropped_events"] == 0
        assert report["impossible_events"] == 0, f"run {run}"
        assert report["end"]["blocks"] <= 4  # glibc's own for the threads


def test_growing_byte_by_byte_shows_the_three_costs(tare: Tare, program: Program) -> None:
    trace = tare.record(program("grow_by_one.c"))
    (chain,) = tare.sql(trace, "select * from growth where kind = 'realloc'")
    assert chain["requested_bytes"] == 549_756_338_176
    assert chain["rounded_4k_bytes"] == 134_742_016
    assert chain["doubling_bytes"] == 2_093_056
    findings = [f for f in tare.report(trace)["findings"] if f["lens"] == "growth"]
    assert findings and findings[0]["function"] == "main"
    assert findings[0]["file"].endswith("grow_by_one.c")
    text = tare("report", trace, "--lens", "growth").stdout
    for number in (549_756_338_176, 134_742_016, 2_093_056):
        assert str(number) in text.replace(",", ""), text


def test_vector_growth_is_linked_though_it_never_reallocs(tare: Tare, program: Program) -> None:
    trace = tare.record(program("vector_growth.cc"))
    rows = tare.sql(trace, "select * from growth where kind = 'malloc-copy-free' order by steps desc")
    assert rows and rows[0]["steps"] >= 19_990
    assert any(f["lens"] == "growth" for f in tare.report(trace)["findings"])


def test_counts_has_the_concordance_shape(tare: Tare, program: Program) -> None:
    trace = tare.record(program("clownshoes.c"))
    plain = tare("counts", trace)
    assert plain.returncode == 0, plain.stderr
    lines = plain.stdout.splitlines()
    shape = re.compile(r"^\(\s*\d+\s*\)\s+\d+ \(\s*\d+\.\d%,\s*\d+\.\d%\)\s+\S+:\s+\d+ ->\s+\d+ \(\s*\d+\s*\)")
    records = [line for line in lines if line.startswith("(")]
    assert records and all(shape.match(line) for line in records), plain.stdout
    assert any(re.search(r"1032 -> +1032 ", line) for line in records)  # glibc: 1032 + 8 is a class
    old = tare("counts", trace, "--model", "jemalloc-2011")
    assert re.search(r"1032 -> +2048 \( *1016 *\)", old.stdout), old.stdout
    assert "clownshoe" in old.stdout


def test_pythons_names_resolve(tare: Tare) -> None:
    python = "/usr/bin/python3.11"
    if not Path(python).exists() or not Path("/usr/lib/debug/.build-id").exists():
        pytest.skip("needs Debian's python3.11 and python3.11-dbg")
    trace = tare.record(
        python,
        "-c",
        "import json; d = json.loads(json.dumps([{'k%d' % i: i} for i in range(50000)])); print(len(d))",
        env={"PYTHONMALLOC": "malloc"},
    )
    report = tare.report(trace)
    named = [f for f in report["findings"] if f["function"] and f["file"] and f["line"]]
    assert report["findings"] and len(named) >= 0.9 * len(report["findings"])
    assert report["peak"]["gross_bytes"] == report["peak"]["net_bytes"] + report["peak"]["tare_bytes"]


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_other_allocators_are_recognised(tare: Tare, program: Program, library: str) -> None:
    path = Path("/usr/lib/x86_64-linux-gnu") / library
    if not path.exists():
        pytest.skip(f"{library} isn't installed")
    linked = program("aligned_81mb.c", str(path))
    report = tare.report(tare.record(linked))
    assert report["allocator"] == re.sub(r"^lib|_minimal|\.so.*$", "", library)
    assert report["impossible_events"] == 0
    # The allocators written in C++ bring libstdc++, whose emergency pool of 72,704 bytes is also a block.
    (large,) = tare.sql(
        tare.folder / "t.tare",
        "select sum(peak_blocks * requested_bytes) as bytes from site_sizes where requested_bytes >= 1000000",
    )
    assert large["bytes"] == 81 * MB


def test_real_programs_run_unchanged(tare: Tare) -> None:
    source = tare.folder / "x.cc"
    source.write_text(
        '#include <map>\n#include <string>\nstd::map<std::string, int> m; int main() { return m["a"]; }\n'
    )
    plain = tare("run", "-o", "gcc.tare", "--", "g++", "-S", "-o", "-", source)
    assert plain.returncode == 0, plain.stderr
    assert ".globl\tmain" in plain.stdout
    traces = [tare.folder / "gcc.tare", *tare.others("gcc.tare")]
    assert len(traces) >= 2, traces  # the driver and cc1plus
    reports = [tare.report(trace) for trace in traces]
    compiler = max(reports, key=lambda r: r["events"])
    assert compiler["program"] == "cc1plus"
    assert compiler["impossible_events"] == 0
    if shutil.which("git"):
        done = tare("run", "-o", "git.tare", "--", "git", "--version")
        assert done.returncode == 0 and done.stdout.startswith("git version")
