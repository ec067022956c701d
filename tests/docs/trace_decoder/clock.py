"""Stamps to nanoseconds (FORMAT.md: Clock)."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

LEAST_GAP_NS = 1_000_000


class Clock:
    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        pairs = sorted(pairs, key=itemgetter(0))
        taken = pairs[:1]
        for stamp, ns in pairs[1:]:
            if stamp > taken[-1][0] and ns >= taken[-1][1] + LEAST_GAP_NS:
                taken.append((stamp, ns))
        if len(taken) == 1:
            (stamp, ns), (last_stamp, last_ns) = pairs[0], pairs[-1]
            is_later = last_stamp > stamp and last_ns > ns
            taken.append(pairs[-1] if is_later else (stamp + 1, ns + 1))
        self.stamps = [stamp for stamp, _ in taken]
        self.ns = [ns - taken[0][1] for _, ns in taken]

    def time_ns(self, stamp: int) -> int:
        """Since the first pair."""
        if stamp <= self.stamps[0]:
            return 0
        i = min(bisect_right(self.stamps, stamp), len(self.stamps) - 1) - 1
        rate = (self.ns[i + 1] - self.ns[i]) / (self.stamps[i + 1] - self.stamps[i])
        return int(self.ns[i] + (stamp - self.stamps[i]) * rate)
