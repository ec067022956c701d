"""Signal handlers inside hooks, on other stacks than the interrupted one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


@pytest.mark.parametrize("way", ["autodisarm", "swapcontext"])
def test_a_handler_on_a_stack_above_the_interrupted_one(tare: Tare, build: Build, way: str) -> None:
    """The interrupted hook isn't taken for one that was left: its event is recorded, and the handler's too."""
    trace = assert_unharmed(tare, [build("other_stacks.c"), way])["plain"]
    (facts,) = tare.sql(
        trace, "select realloc_events, map_events, nested_events, impossible_events, dropped_events from process"
    )
    rounds = 50
    assert facts["realloc_events"] == rounds
    assert facts["nested_events"] == 6 * rounds
    assert facts["map_events"] >= 6 * rounds
    assert (facts["impossible_events"], facts["dropped_events"]) == (0, 0)
