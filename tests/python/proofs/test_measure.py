"""How often scripts are performed, and the course of the RSS."""

from __future__ import annotations

import pytest
from tare.allocator_replay.allocators import GLIBC, Allocator
from tare.allocator_replay.performance import Performance, Sample
from tare.allocator_replay.scripts import Recorded, Script
from tare.proofs import measure
from tare.proofs.runs import ENOUGH_S, LEAST_RUNS, MOST_RUNS

RECORDED = Recorded(Allocator(GLIBC, ""), 1 << 20, [])


def script(path: str) -> Script:
    return Script(path, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0)


def runs(monkeypatch: pytest.MonkeyPatch, seconds: float, chosen: int | None) -> int:
    """Of a pair of scripts that takes so many seconds for each run of the pair."""
    now = 0.0

    def perform(*_: object, **__: object) -> Performance:
        nonlocal now
        now += seconds / 4  # two scripts, each with and without an allocator
        return Performance(GLIBC, "", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0, 1.0, 1.0)

    monkeypatch.setattr(measure, "perform", perform)
    monkeypatch.setattr(measure.time, "monotonic", lambda: now)
    return measure.measure(script("before"), [script("after")], RECORDED, chosen).runs


def test_short_scripts_are_performed_five_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs(monkeypatch, 0.1, None) == MOST_RUNS


def test_long_scripts_are_performed_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs(monkeypatch, 2 * ENOUGH_S, None) == LEAST_RUNS


def test_a_fourth_run_is_made_while_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs(monkeypatch, ENOUGH_S / LEAST_RUNS, None) == LEAST_RUNS + 1


def test_runs_that_were_asked_for_are_all_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs(monkeypatch, 2 * ENOUGH_S, 7) == 7


def rising(first_ns: int, step_ns: int) -> Performance:
    """A heap that grows by a byte in a recorded nanosecond, sampled every so often."""
    samples = [Sample(at, at, float(at), at) for at in range(first_ns, 1001, step_ns)]
    return Performance(GLIBC, "", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0, 1.0, 1.0, samples)


def test_a_quarters_greatest_rss_does_not_depend_on_when_samples_were_taken() -> None:
    """GNU make's first quarter: 66 % more in a run whose last sample there was later."""
    thousand = script("before")._replace(duration_ns=1000)
    for first in (1, 90, 140):
        assert measure.quarters([rising(first, 149)], thousand) == pytest.approx([250, 500, 750, 1000], rel=0.12)
    assert measure.quarters([rising(1, 149), rising(90, 149), rising(140, 149)], thousand)[:3] == pytest.approx(
        [250, 500, 750]
    )


def test_a_quarter_without_a_sample_has_no_size() -> None:
    thousand = script("before")._replace(duration_ns=1000)
    assert measure.quarters([rising(600, 300)], thousand)[:2] == [None, None]
