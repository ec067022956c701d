"""Children forked at bad moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


@pytest.mark.parametrize("way", ["fork", "_Fork", "number", "clone3", "instruction"])
def test_a_fork_in_a_signal_handler_in_a_hook(tare: Tare, build: Build, way: str) -> None:
    """The child writes the interrupted event to the end, but not into its parent's recording."""
    trace = assert_unharmed(tare, [build("fork_in_hook.c"), way])["plain"]
    (facts,) = tare.sql(trace, "select alloc_events, realloc_events, impossible_events, dropped_events from process")
    children = 16
    churns = 2 * children + 1
    assert facts["alloc_events"] >= 2 * children + churns * 10_007
    assert facts["realloc_events"] == children
    assert (facts["impossible_events"], facts["dropped_events"]) == (0, 0)
    recorded_children = tare.others("plain.tare")
    assert len(recorded_children) == children
    for child in recorded_children:
        (facts,) = tare.sql(child, "select impossible_events from process")
        assert facts["impossible_events"] == 0


def test_a_child_that_is_not_recorded_forks(tare: Tare, build: Build) -> None:
    """The child has memory of its own at the address of its parent's recording."""
    assert_unharmed(tare, [build("unrecorded_child.c")], notice=b"could not be recorded")


@pytest.mark.parametrize("mode", MODES)
def test_a_childs_threads_allocate_before_the_thread_that_forked(tare: Tare, build: Build, mode: str) -> None:
    """Data that the parent's recorder keeps for the forking thread belongs to that thread in the child, too."""
    assert_unharmed(tare, [build("threads_of_child_first.c")], modes=[mode])
    (child,) = tare.others(f"{mode}.tare")
    (facts,) = tare.sql(child, "select alloc_events, impossible_events, dropped_events, threads from process")
    assert (facts["impossible_events"], facts["dropped_events"]) == (0, 0)
    if mode != "sample":
        assert facts["alloc_events"] >= 2 * 20_000
        assert facts["threads"] == 2


def test_a_child_of_a_thread_that_never_allocated_inherits_the_blocks(tare: Tare, build: Build) -> None:
    assert_unharmed(tare, [build("silent_thread_forks.c")], modes=["plain"])
    (child,) = tare.others("plain.tare")
    counted = "select sum(peak_blocks) as blocks from site_sizes where requested_bytes = 1000 and inherited = "
    assert tare.sql(child, counted + "1") == [{"blocks": 100}]
    assert tare.sql(child, counted + "0") == [{"blocks": 10}]


def test_a_child_of_an_unseen_fork_inherits_what_other_threads_took(tare: Tare, build: Build) -> None:
    """The forking thread's last event lies before the other thread's blocks; the child's memory has them."""
    assert_unharmed(tare, [build("unseen_fork.c")], modes=["plain"])
    (child,) = tare.others("plain.tare")
    counted = "select sum(peak_blocks) as blocks from site_sizes where requested_bytes = 1000 and inherited = "
    assert tare.sql(child, counted + "1") == [{"blocks": 100}]
    assert tare.sql(child, counted + "0") == [{"blocks": 10}]
