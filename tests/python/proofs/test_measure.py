"""How often scripts are performed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.allocator_replay.allocators import GLIBC, Allocator
from tare.allocator_replay.performance import Performance
from tare.allocator_replay.scripts import Recorded, Script
from tare.proofs import measure
from tare.proofs.runs import ENOUGH_S, LEAST_RUNS, MOST_RUNS

if TYPE_CHECKING:
    import pytest

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
