"""Triggers: each condition, and how often."""

from __future__ import annotations

import pytest
from tare.watch.triggers import Conditions, Course, Triggers

MIB = 1 << 20


def test_heap_and_rss() -> None:
    triggers = Triggers(Conditions(rss_bytes=200 * MIB, heap_bytes=100 * MIB))
    assert triggers.of_process("a", 0.0, 99 * MIB, 199 * MIB) == []
    assert triggers.of_process("a", 0.0, 100 * MIB, 200 * MIB) == ["heap", "rss"]
    assert triggers.of_process("b", 0.0, 0, None) == []


def test_not_within_is_of_a_trigger_and_process() -> None:
    triggers = Triggers(Conditions(heap_bytes=1, rss_bytes=1, not_within_s=300))
    assert triggers.of_process("a", 0.0, 5, None) == ["heap"]
    assert triggers.of_process("a", 299.0, 5, 5) == ["rss"]
    assert triggers.of_process("b", 299.0, 5, None) == ["heap"]
    assert triggers.of_process("a", 300.0, 5, None) == ["heap"]
    assert triggers.fired == {"heap": 3, "rss": 1}


def test_growth_within_the_time() -> None:
    triggers = Triggers(Conditions(growth_bytes=200 * MIB, growth_s=3600))
    heap, fired = 50.0 * MIB, []
    for minute in range(180):
        heap += 3 * MIB  # 180 MiB an hour: never
        fired += triggers.of_process("slow", minute * 60.0, heap, None)
    assert fired == []
    heap = 50.0 * MIB
    for minute in range(180):
        heap += 4 * MIB
        if triggers.of_process("fast", minute * 60.0, heap, None):
            fired.append(minute)
    assert fired[0] == pytest.approx(50, abs=2)


def test_a_course_has_a_fixed_size() -> None:
    course = Course(3600.0)
    for second in range(20_000):
        course.add(float(second), 100.0 if second < 10_000 else 300.0)
    assert len(course._points) <= 64
    assert course.growth(20_000.0, 300.0) == 0.0
    assert course.growth(12_000.0, 300.0) == 0.0


def test_pressure_and_events_at_the_limit() -> None:
    triggers = Triggers(Conditions(pressure_percent=10.0, at_limit=True))
    assert triggers.of_group("g", 0.0, 9.9, 7) == []
    assert triggers.of_group("g", 1.0, 10.0, 7) == ["pressure"]
    assert triggers.of_group("g", 2.0, None, 8) == ["limit"]
    assert triggers.of_group("g", 3.0, None, 9) == []  # within five minutes
    assert triggers.of_group("g", 400.0, None, 9) == []  # no new event
    assert triggers.of_group("g", 401.0, None, 10) == ["limit"]


def test_state_of_ended_processes_goes() -> None:
    triggers = Triggers(Conditions(heap_bytes=1, growth_bytes=1, growth_s=60, at_limit=True))
    for number in range(500):
        triggers.of_process(f"p{number}", 0.0, 5, None)
        triggers.of_group(f"g{number}", 0.0, None, 1)
        triggers.keep_only({f"p{number}"}, {f"g{number}"})
    assert len(triggers._courses) == len(triggers._at_limit) == len(triggers._last) == 1
