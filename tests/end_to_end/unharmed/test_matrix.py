"""Each row of the matrix natively, with tcmalloc preloaded, and recorded in each mode: nothing may differ."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from matrix import PATH, PROGRAM, ROWS, Row
from unharmed import assert_control_unharmed, assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[pytest.mark.nightly] if row.nightly else [], id=row.name) for row in ROWS]
)
def test_row(tare: Tare, build: Build, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    missing = row.lacks()
    if missing:
        pytest.skip(missing)
    monkeypatch.setenv("PATH", PATH)
    for name, text in row.files.items():
        (tare.folder / name).parent.mkdir(exist_ok=True)
        (tare.folder / name).write_text(text)
    for command in row.before:
        subprocess.run(command, cwd=tare.folder, check=True, capture_output=True)
    program = str(build(row.source, *row.flags)) if row.source else ""
    words = [program if word == PROGRAM else word for word in row.command]
    if row.control:
        assert_control_unharmed(tare, words, timeout_s=row.timeout_s)
    assert_unharmed(
        tare,
        words,
        modes=row.modes,
        around=row.around,
        timeout_s=row.timeout_s,
        notice=row.notice,
        may_say=row.may_say,
    )
