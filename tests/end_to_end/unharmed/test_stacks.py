"""Stacks that end where a program's stacks do, and those that can't be followed to there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import assert_unharmed, outcome_of

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def test_constructors_are_called_by_the_loader(tare: Tare, build: Build) -> None:
    library = build("blocks_before_main.c", "-shared", "-fPIC", "-DAS_LIBRARY")
    program = build("blocks_before_main.c", "-Wl,--no-as-needed", str(library))
    for mode, trace in assert_unharmed(tare, [program]).items():
        (facts,) = tare.sql(trace, "select unwind_failures from process")
        assert (mode, facts["unwind_failures"]) == (mode, 0)
    outermost = tare.sql(
        tare.folder / "plain.tare",
        "select path from stacks join locations using (location_id) join modules using (module_id) where caller_id = 0",
    )
    assert any(Path(row["path"]).name.startswith("ld-") for row in outermost)


@pytest.mark.parametrize("flags", [("-fno-asynchronous-unwind-tables",), ("-Wl,--no-eh-frame-hdr",)])
def test_code_without_unwind_tables_is_named_once(tare: Tare, build: Build, flags: tuple[str, ...]) -> None:
    program = build("blocks_in_calls.c", *flags)
    for mode, trace in assert_unharmed(tare, [program]).items():
        (facts,) = tare.sql(trace, "select unwind_failures from process")
        assert (mode, facts["unwind_failures"]) == (mode, 0)
        if mode != "sample":
            gaps = tare.sql(trace, "select path, stacks from unwind_gaps join modules using (module_id)")
            assert gaps == [{"path": str(program), "stacks": 10}]
    summary = outcome_of([tare.command, "run", "-o", "said.tare", "--", program], tare.folder).stderr.decode()
    report = outcome_of([tare.command, "report", "said.tare"], tare.folder).stdout.decode()
    for said in (summary, report):
        assert " ".join(said.split()).count("10 stacks end in take of ") == 1
        assert "-fasynchronous-unwind-tables" in said


def test_stacks_with_unwind_tables_are_no_news(tare: Tare, build: Build) -> None:
    program = build("blocks_in_calls.c")
    for trace in assert_unharmed(tare, [program]).values():
        assert tare.sql(trace, "select * from unwind_gaps") == []
    assert tare.sql(tare.folder / "plain.tare", "select max(depth) > 6 as deep from stacks") == [{"deep": True}]


# With threads and hand-written assembler where they have it.
REAL_PROGRAMS = {
    "gm": ["gm", "convert", "-size", "200x150", "plasma:fractal", "-blur", "0x2", "-resize", "100x75", "out.png"],
    "ffmpeg": [
        *("ffmpeg", "-loglevel", "error", "-y", "-f", "lavfi", "-i", "testsrc=duration=0.5:size=160x120:rate=10"),
        *("-threads", "4", "-c:v", "mjpeg", "out.avi"),
    ],
    "ld.lld-19": [
        *("ld.lld-19", "--threads=4", "--entry=main", "program.o", "-L/usr/lib/x86_64-linux-gnu", "-lc", "-o", "out"),
    ],
    "gnuplot": ["gnuplot", "-e", "set term svg; set output 'out.svg'; splot x*x-y*y with pm3d"],
    "emacs": ["emacs", "--batch", "--eval", '(thread-join (make-thread (lambda () (make-string 99999 ?a))))'],
}  # fmt: skip


@pytest.mark.parametrize("name", REAL_PROGRAMS)
def test_stacks_of_real_programs_end_where_they_begin(tare: Tare, build: Build, name: str) -> None:
    command = REAL_PROGRAMS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    shutil.copy(build("blocks_in_calls.c", "-c"), tare.folder / "program.o")
    trace = tare.record(*command)
    (facts,) = tare.sql(trace, "select alloc_events > 100 as many, unwind_failures, truncated_stacks from process")
    assert facts == {"many": True, "unwind_failures": 0, "truncated_stacks": 0}
    assert tare.sql(trace, "select * from unwind_gaps") == []
