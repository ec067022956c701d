"""Programs whose threads come and go while the launcher merges their events: looks into live blocks need that merge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, outcome_of

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


@pytest.mark.parametrize("mode", ["content", "snapshots"])
def test_a_thread_is_born_while_another_allocates_without_a_pause(tare: Tare, build: Build, mode: str) -> None:
    command = [tare.command, "run", *MODES[mode], "-o", "looked.tare", "--", build("newborn_threads.c")]
    done = outcome_of(command, tare.folder, timeout_s=120)
    assert done.status == 0, done.stderr
    assert b"no look" not in done.stderr
    assert tare.sql("looked.tare", "select count(*) as looks from snapshots where kind = 'exit'") == [{"looks": 1}]
