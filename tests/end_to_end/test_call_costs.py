"""Time in the allocator: sampled, reported by site, and without additional events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]
CALLS = 300_000


@pytest.mark.parametrize("threads", [1, 3])
def test_some_calls_are_timed_and_no_event_is_lost_or_made_up(tare: Tare, program: Build, threads: int) -> None:
    trace = tare.record(program("churning.c"), str(threads))
    (facts,) = tare.sql(trace, "select alloc_events, impossible_events, dropped_events from process")
    (made,) = tare.sql(
        trace, "select sum(total_blocks) as n from site_sizes where requested_bytes between 1000 and 1392"
    )
    assert (made["n"], facts["impossible_events"], facts["dropped_events"]) == (threads * CALLS, 0, 0)
    (costs,) = tare.sql(
        trace,
        "select sum(calls) as calls, sum(ns) as ns, max(max_ns) as max_ns, sum(free_calls) as free_calls,"
        " sum(free_ns) as free_ns, max(max_free_ns) as max_free_ns from call_costs c"
        " join (select distinct stack_id from site_sizes where requested_bytes between 1000 and 1392) s"
        " on s.stack_id = c.stack_id",
    )
    assert 20 <= costs["calls"] <= threads * CALLS / 100
    assert 3 <= costs["ns"] / costs["calls"] <= costs["max_ns"]
    assert 20 <= costs["free_calls"] <= threads * CALLS / 100
    assert 3 <= costs["free_ns"] / costs["free_calls"] <= costs["max_free_ns"]
    findings = tare.report(trace, "--lens", "churn")["findings"]  # of the first thread, and of others
    remedies = [f["remedy"] for f in findings if f["lens"] == "churn" and f["function"] == "scratch"]
    assert remedies and all("an allocation took" in remedy and ", a free took" in remedy for remedy in remedies)


@pytest.mark.parametrize("options", [("--content",), ("--sample", "4K")], ids=" ".join)
def test_other_recordings_time_nothing(tare: Tare, program: Build, options: tuple[str, ...]) -> None:
    trace = tare.record(program("churning.c"), options=options)
    assert tare.sql(trace, "select count(*) as n from call_costs") == [{"n": 0}]
