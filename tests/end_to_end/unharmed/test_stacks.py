"""Stacks that end where a program's stacks do, and those that can't be followed to there."""

from __future__ import annotations

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
        "select path from stacks join rows using (row_id) join modules using (module_id) where caller_id = 0",
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
