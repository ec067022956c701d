"""Threads without end: what is kept of each is used again for the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from unharmed import assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]

THREADS = 3000


def test_numbers_of_threads_are_used_again(tare: Tare, build: Build) -> None:
    for mode, trace in assert_unharmed(tare, [build("threads_in_turn.c"), str(THREADS)]).items():
        (facts,) = tare.sql(trace, "select threads, alloc_events, impossible_events, dropped_events from process")
        assert facts["impossible_events"] == facts["dropped_events"] == 0
        if mode == "sample":
            continue
        assert facts["threads"] == THREADS + 1
        assert facts["alloc_events"] >= THREADS
        (numbers,) = tare.sql(trace, "select max(thread) most from blocks")
        assert numbers["most"] < 100
