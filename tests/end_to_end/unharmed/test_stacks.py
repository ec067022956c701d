"""Stacks that end where a program's stacks do, and those that can't be followed to there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from unharmed import assert_unharmed

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
