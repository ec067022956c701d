"""Names of snapshots, and which are deleted by age, number and bytes."""

from __future__ import annotations

import random

import pytest
from tare.watch.snapshots import DAY, HOUR, MINUTE, NEWEST_KEPT, Limits, Snapshot, name_of, oldest, parsed, surplus

NOW = 1_795_000_000_000  # 11:06:40 UTC
MANY = Limits(10**6, 1 << 40)


def made(age_ms: int, *, reason: str = "timer", live: int = 100, image: str = "7-a", size: int = 1000) -> Snapshot:
    snapshot = parsed(name_of("redis", image, NOW - age_ms, reason, live), size)
    assert snapshot is not None
    return snapshot


def ages(kept: list[Snapshot]) -> list[int]:
    return sorted(NOW - each.time_ms for each in kept)


def remaining(every: list[Snapshot], limits: Limits = MANY, now: int = NOW) -> list[Snapshot]:
    gone = {each.name for each in surplus(every, now, limits)}
    return [each for each in every if each.name not in gone]


@pytest.mark.parametrize(
    "program", ["redis-server", "python3.11", "a b/c\n", "", "..", "x" * 300, "übung", "a.1-b.tare"]
)
def test_a_name_has_all_facts(program: str) -> None:
    name = name_of(program, "4711-k3j9", NOW + 7, "timer", 123456.7)
    assert "/" not in name and len(name) < 120 and not name.startswith(".")
    snapshot = parsed(name, 9)
    assert snapshot is not None
    assert (snapshot.image, snapshot.pid, snapshot.time_ms) == ("4711-k3j9", 4711, NOW + 7)
    assert (snapshot.reason, snapshot.live_bytes, snapshot.file_bytes) == ("timer", 123457, 9)


@pytest.mark.parametrize(
    "name",
    ["a.tare", "redis.7-a.20261301T000000000Z.timer.1.tare", "x.7-a.20260101T000000000Z.timer.1.tare.note", "../x"],
)
def test_other_names_are_no_snapshots(name: str) -> None:
    assert parsed(name) is None


def test_all_of_the_last_hour_stay() -> None:
    every = [made(age * MINUTE) for age in range(60)]
    assert remaining(every) == every


def test_of_ten_minutes_the_largest_stays_and_of_old_hours_too() -> None:
    old = [made(2 * DAY + age * MINUTE, live=age) for age in range(600)]
    recent = [made(3 * HOUR + age * MINUTE, live=1000 - age) for age in range(200)]
    kept = remaining([*old, *recent, *(made(age * MINUTE) for age in range(NEWEST_KEPT))])
    of_day = [each for each in kept if HOUR < NOW - each.time_ms <= DAY]
    of_week = [each for each in kept if NOW - each.time_ms > DAY]
    intervals = {each.time_ms // (10 * MINUTE) for each in recent}
    assert len(of_day) == len(intervals) == 20 or len(of_day) == len(intervals) == 21
    for each in of_day:
        mine = [other for other in recent if other.time_ms // (10 * MINUTE) == each.time_ms // (10 * MINUTE)]
        assert each.live_bytes == max(other.live_bytes for other in mine)
    assert len(of_week) == len({each.time_ms // HOUR for each in old})


def test_after_a_week_only_final_snapshots_stay_and_after_four_weeks_none() -> None:
    newest = [made(age * MINUTE) for age in range(NEWEST_KEPT)]
    every = [made(8 * DAY), made(8 * DAY + 1, reason="killed"), made(29 * DAY, reason="killed"), *newest]
    assert ages(remaining(every)) == [*(age * MINUTE for age in range(NEWEST_KEPT)), 8 * DAY + 1]


def test_a_clock_that_jumps_leaves_the_newest() -> None:
    every = [made(age * MINUTE) for age in range(60)]
    assert ages(remaining(every, now=NOW + 3650 * DAY)) == [age * MINUTE for age in range(NEWEST_KEPT)]
    assert remaining(every, now=NOW - 3650 * DAY) == every


def test_thinning_again_and_again_keeps_the_same() -> None:
    chance = random.Random(7)
    every = [made(chance.randrange(6 * DAY), live=chance.randrange(10**6)) for _ in range(3000)]
    once = remaining(every)
    assert len(once) < 400
    assert remaining(once) == once


def test_number_and_bytes_cost_the_oldest_but_final_ones_and_todays_peak_last() -> None:
    peak, killed = made(50 * MINUTE, live=9999), made(59 * MINUTE, reason="killed", image="6-z")
    every = [killed, peak, *(made(age * MINUTE) for age in range(40))]
    assert ages(remaining(every, Limits(4, 1 << 40))) == [0, MINUTE, 50 * MINUTE, 59 * MINUTE]
    assert ages(remaining(every, Limits(10**6, 3500))) == [0, 50 * MINUTE, 59 * MINUTE]
    assert ages(remaining(every, Limits(1, 1 << 40))) == [50 * MINUTE]
    first = oldest(every, NOW)
    assert first is not None and NOW - first.time_ms == 39 * MINUTE


def test_processes_are_thinned_apart() -> None:
    every = [made(2 * HOUR + age, image=f"{pid}-a") for pid in range(1, 301) for age in range(12)]
    kept = remaining(every)
    assert {each.image for each in kept} == {f"{pid}-a" for pid in range(1, 301)}


def test_work_grows_with_the_number_of_snapshots_only() -> None:
    """Comparisons are counted: 10 times as many snapshots cost less than 20 times as many."""
    counts = []
    for number in (2000, 20_000):
        every = [made(age * 1000, image=f"{age % 300}-a") for age in range(number)]
        calls = 0

        class Counting(int):
            def __lt__(self, other: object) -> bool:
                nonlocal calls
                calls += 1
                return int.__lt__(self, int(str(other)))

        surplus([each._replace(time_ms=Counting(each.time_ms)) for each in every], NOW, Limits(100, 1 << 40))
        counts.append(calls)
    assert counts[1] < 20 * counts[0]
