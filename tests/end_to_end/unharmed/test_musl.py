"""Programs that run on musl: blocks, sizes, and programs that were built on Alpine Linux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]

HERE = Path(__file__).resolve().parent
CLASSES = [
    *range(1, 11), 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255, 292, 340, 409, 511,
    584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
]  # fmt: skip
UNWIND_TABLES = ("-Wl,--eh-frame-hdr",)  # musl-gcc leaves them out; Alpine's compiler doesn't
# Wheels for systems with musl, of versions that need no newer one than Debian's 1.2.3.
WHEELS = {"clang-format": "15.0.7", "cmake": "3.27.9", "ninja": "1.11.1.1"}

pytestmark = pytest.mark.skipif(
    shutil.which("musl-gcc") is None or not os.path.exists("/lib/ld-musl-x86_64.so.1"),
    reason="musl-tools isn't installed",
)


@pytest.fixture(scope="session")
def alpine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alpine")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    wanted = [f"{name}=={version}" for name, version in WHEELS.items()]
    done = subprocess.run(
        [*command, "--platform", "musllinux_1_1_x86_64", *wanted], capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        pytest.skip(f"PyPI can't be reached: {done.stderr[-200:]}")
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder)
    for program in folder.glob("*/data/bin/*"):
        program.chmod(0o755)
    return folder


# Calls that two threads make a hundred times each. malloc: also by musl's own functions.
CALLS = {"calloc": 400, "reallocarray": 200, "aligned_alloc": 200, "memalign": 200, "posix_memalign": 200}
FACTS = "allocator, impossible_events, dropped_events, pre_existing_frees, unwind_failures, realloc_events from process"


def test_each_call_is_one_block(tare: Tare, build: Build) -> None:
    program = build("musl_calls.c", *UNWIND_TABLES, compiler="musl-gcc")
    for mode, trace in assert_unharmed(tare, [program], modes=["plain", "content", "snapshots"]).items():
        traces = [trace, *tare.others(trace.name)]
        assert len(traces) == 3  # the child's image, and the one that it executes
        for each in traces:
            (facts,) = tare.sql(each, f"select {FACTS}")
            assert facts["allocator"] == "musl", mode
            assert facts["impossible_events"] == facts["dropped_events"] == facts["pre_existing_frees"] == 0, mode
            assert facts["unwind_failures"] == 0, mode
        counted = "select api, sum(total_blocks) as blocks from site_sizes where not inherited group by api"
        found = {row["api"]: row["blocks"] for row in tare.sql(trace, counted)}
        assert {api: found.get(api) for api in CALLS} == CALLS, mode
        assert found["malloc"] >= 400, mode  # and strdup's
        (facts,) = tare.sql(trace, f"select {FACTS}")
        assert facts["realloc_events"] >= 200, mode


def test_a_sample_is_of_the_same_calls(tare: Tare, build: Build) -> None:
    program = build("musl_calls.c", *UNWIND_TABLES, compiler="musl-gcc")
    trace = assert_unharmed(tare, [program], modes=["sample"])["sample"]
    (facts,) = tare.sql(trace, "select total_requested_bytes as bytes, impossible_events from process")
    exact = tare.record(program, name="exact.tare")
    (all_calls,) = tare.sql(exact, "select total_requested_bytes as bytes from process")
    # 41 MB in samples of 64 KiB: standard error below 4 %.
    assert facts["bytes"] == pytest.approx(all_calls["bytes"], rel=0.2)
    assert facts["impossible_events"] == 0


def test_stacks_reach_the_first_function(tare: Tare, build: Build) -> None:
    """Start functions of musl have no unwind tables; nothing that the program called from them is missing."""
    program = build("musl_calls.c", *UNWIND_TABLES, compiler="musl-gcc")
    trace = tare.record(program)
    (gaps,) = tare.sql(trace, "select coalesce(sum(stacks), 0) as stacks from unwind_gaps")
    assert gaps["stacks"] <= 200  # strdup's, whose caller isn't known
    folded = tare("export", trace, "--to", "folded", "--measure", "alloc_objects", "-o", "-")
    assert folded.returncode == 0, folded.stderr
    stacks = [line.split(";") for line in folded.stdout.splitlines()]
    # From musl's start functions, which have no names, of the process and of the thread.
    of_calls = [stack[1:] for stack in stacks if stack[-1].startswith("calls ")]
    assert sorted(len(stack) for stack in of_calls) == [1, 2], stacks
    assert ["main", "calls 800"] in of_calls


def test_blocks_are_slots(tare: Tare, build: Build) -> None:
    """musl's malloc_usable_size hides the slot; the report has it, with its header."""
    program = build("musl_calls.c", *UNWIND_TABLES, compiler="musl-gcc")
    sizes = [1, 12, 13, 28, 100, 140, 188, 300, 517, 1000, 1500, 2500, 4000, 9000, 20000, 40000, 65000, 100000, 131052]
    mapped = [131053, 200000, 1 << 20]
    trace = tare.record(program, *map(str, [*sizes, *mapped]))
    rows = tare.sql(
        trace,
        "select requested_bytes as asked, usable_bytes as usable, end_blocks as blocks, header_bytes as header from site_sizes",
    )
    for size in sizes:
        slot = 16 * next(each for each in CLASSES if 16 * each - 4 >= size)
        coarser = 16 * next(each for each in [*CLASSES, 1 << 20] if 16 * each > slot)
        of_size = [row for row in rows if row["asked"] == size]
        assert sum(row["blocks"] for row in of_size) == 256
        # The first blocks of a size may take the next class, or a mapping of their own where that takes less memory.
        pages = -(-(size + 20) // 4096) * 4096
        assert {row["usable"] for row in of_size} <= {slot - 4, coarser - 4, pages - 20}
        assert all(row["header"] == 4 for row in of_size)
    for size in mapped:
        of_size = [row for row in rows if row["asked"] == size]
        assert sum(row["blocks"] for row in of_size) == 256
        pages = -(-(size + 20) // 4096) * 4096
        assert {(row["usable"], row["header"]) for row in of_size} == {(pages - 20, 20)}


def test_programs_of_alpine(tare: Tare, alpine: Path) -> None:
    """A parser of C++, and a build system that starts compilers: C++ without a byte of glibc."""
    source = tare.folder / "all.cc"
    source.write_text("".join(path.read_text() for path in sorted((HERE.parents[2] / "src/core").glob("*/*.cc"))[:20]))
    formatter = alpine / "clang_format/data/bin/clang-format"
    for mode, trace in assert_unharmed(tare, [formatter, source], modes=MODES).items():
        (facts,) = tare.sql(trace, f"select {FACTS}")
        assert facts["allocator"] == "musl", mode
        assert facts["impossible_events"] == facts["dropped_events"] == 0, mode


def test_a_build_system_of_alpine(tare: Tare, alpine: Path) -> None:
    (tare.folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(p p.c)\n"
    )
    (tare.folder / "p.c").write_text("int main(void) { return 0; }\n")
    shell = tare.folder / "build.sh"
    programs = f"{alpine}/cmake/data/bin/cmake -G Ninja -DCMAKE_MAKE_PROGRAM={alpine}/ninja/data/bin/ninja"
    shell.write_text(
        f"rm -rf b; {programs} -S . -B b >/dev/null && {alpine}/ninja/data/bin/ninja -C b >/dev/null; b/p; echo $?\n"
    )
    trace = assert_unharmed(tare, ["sh", shell], modes=["plain"])["plain"]
    found = [
        facts
        for each in tare.others(trace.name)
        for facts in tare.sql(each, "select exe, allocator, impossible_events, dropped_events from process")
    ]
    of_musl = [facts for facts in found if facts["allocator"] == "musl"]
    assert {Path(facts["exe"]).name for facts in of_musl} == {"cmake", "ninja"}
    assert any(facts["allocator"] == "glibc" for facts in found)  # the compiler
    assert all(facts["impossible_events"] == facts["dropped_events"] == 0 for facts in found)
