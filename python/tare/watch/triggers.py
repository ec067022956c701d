"""Conditions that take a snapshot at once, each at most once in a while."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

_POINTS = 64  # of a heap's course


class Conditions(NamedTuple):
    """0: not a condition."""

    rss_bytes: int = 0
    heap_bytes: int = 0
    growth_bytes: int = 0
    growth_s: float = 0.0
    pressure_percent: float = 0.0
    at_limit: bool = False  # events of the control group's limits
    not_within_s: float = 300.0


class Course:
    """A heap's size over the last `length_s`, as minima of equal intervals."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._step_s = length_s / (_POINTS - 2)
        self._points: deque[tuple[float, float]] = deque(maxlen=_POINTS)

    def add(self, now_s: float, live_bytes: float) -> None:
        if self._points and now_s - self._points[-1][0] < self._step_s:
            began, least = self._points[-1]
            self._points[-1] = (began, min(least, live_bytes))
        else:
            self._points.append((now_s, live_bytes))

    def growth(self, now_s: float, live_bytes: float) -> float:
        """Since the smallest size in that time."""
        while self._points and now_s - self._points[0][0] > self._length_s:
            self._points.popleft()
        return live_bytes - min((each for _, each in self._points), default=live_bytes)


class Triggers:
    """State of all processes and groups. Times are of the monotonic clock."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.fired: dict[str, int] = {}
        self._courses: dict[str, Course] = {}
        self._last: dict[tuple[str, str], float] = {}  # trigger, process or group -> when
        self._at_limit: dict[str, int] = {}

    def of_process(self, key: str, now_s: float, live_bytes: float, rss_bytes: int | None) -> list[str]:
        limits, met = self.conditions, list[str]()
        if limits.heap_bytes and live_bytes >= limits.heap_bytes:
            met.append("heap")
        if limits.rss_bytes and rss_bytes is not None and rss_bytes >= limits.rss_bytes:
            met.append("rss")
        if limits.growth_bytes:
            course = self._courses.setdefault(key, Course(limits.growth_s))
            if course.growth(now_s, live_bytes) >= limits.growth_bytes:
                met.append("growth")
            course.add(now_s, live_bytes)
        return [name for name in met if self._may(name, key, now_s)]

    def of_group(self, folder: str, now_s: float, pressure: float | None, at_limit: int | None) -> list[str]:
        limits, met = self.conditions, list[str]()
        if limits.pressure_percent and pressure is not None and pressure >= limits.pressure_percent:
            met.append("pressure")
        if limits.at_limit and at_limit is not None:
            if at_limit > self._at_limit.get(folder, at_limit):
                met.append("limit")
            self._at_limit[folder] = at_limit
        return [name for name in met if self._may(name, folder, now_s)]

    def keep_only(self, keys: set[str], folders: set[str]) -> None:
        """State of ended processes goes."""
        self._courses = {key: course for key, course in self._courses.items() if key in keys}
        self._at_limit = {key: count for key, count in self._at_limit.items() if key in folders}
        self._last = {key: when for key, when in self._last.items() if key[1] in keys or key[1] in folders}

    def _may(self, name: str, key: str, now_s: float) -> bool:
        last = self._last.get((name, key))
        if last is not None and now_s - last < self.conditions.not_within_s:
            return False
        self._last[name, key] = now_s
        self.fired[name] = self.fired.get(name, 0) + 1
        return True
