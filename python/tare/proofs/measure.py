"""Performs scripts with remedies beside the unchanged one, in turn, and compares them."""

from __future__ import annotations

import time
from bisect import bisect_left
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tare.allocator_replay.performance import middle, perform, without
from tare.progress import Progress
from tare.proofs.runs import ENOUGH_S, LEAST_RUNS, MOST_RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.allocator_replay.performance import Performance
    from tare.allocator_replay.scripts import Recorded, Script

QUARTERS = 4


class Change(NamedTuple):
    """Of one figure: medians of the runs, and of the differences of the pairs."""

    before: float
    after: float
    change: float
    low: float  # least difference of a pair
    high: float

    @property
    def certain(self) -> bool:
        """All pairs differ in the same direction."""
        return self.low > 0 or self.high < 0


class Proof(NamedTuple):
    """One script beside the unchanged one; figures of the heap and the calls alone."""

    rewritten_blocks: int
    calls: Change
    peak_rss: Change
    faults: Change
    cpu_s: Change
    copied_bytes: Change
    course: tuple[tuple[float | None, float | None], ...]  # by quarter of the recorded time: greatest RSS before, after
    failed_calls: int  # that the allocator refused, of both


class Measured(NamedTuple):
    runs: int  # of each script
    proofs: list[Proof]  # one for each changed script
    outside_bytes: float | None  # the part of the program's peak RSS that isn't heap


def measure(before: Script, changed: Sequence[Script], recorded: Recorded, chosen_runs: int | None) -> Measured:
    """before, after, ..., after, ..., before: a drift of the machine hits all alike."""
    most = chosen_runs or MOST_RUNS
    enough_at = time.monotonic() + ENOUGH_S
    scripts = [before, *changed]
    own: list[list[Performance]] = [[] for _ in scripts]
    performed: list[list[Performance]] = [[] for _ in scripts]
    with Progress("performing") as progress:
        for number in range(most):
            if chosen_runs is None and number >= LEAST_RUNS and time.monotonic() > enough_at:
                break
            places = range(len(scripts)) if number % 2 == 0 else range(len(scripts) - 1, -1, -1)
            for done, place in enumerate(places):
                progress.update((number * len(scripts) + done) / (most * len(scripts)))
                own[place].append(_perform(scripts[place], recorded, calling=False))
                performed[place].append(_perform(scripts[place], recorded, calling=True))
    free_of_own = [
        [without(each, middle(idle)) for each in runs_of] for runs_of, idle in zip(performed, own, strict=True)
    ]
    unchanged = free_of_own[0]
    proofs = [
        _proof(before, script, unchanged, runs_of) for script, runs_of in zip(changed, free_of_own[1:], strict=True)
    ]
    return Measured(len(own[0]), proofs, recorded.outside_heap(middle(unchanged)))


def _perform(script: Script, recorded: Recorded, *, calling: bool) -> Performance:
    return perform(script.path, recorded.allocator, speed=0, calling=calling, beside=recorded.shared, verb="prove")


def _proof(before: Script, after: Script, unchanged: list[Performance], changed: list[Performance]) -> Proof:
    def change(name: str) -> Change:
        return change_of([getattr(each, name) for each in unchanged], [getattr(each, name) for each in changed])

    return Proof(
        after.rewritten_blocks,
        change_of([before.calls], [after.calls]),
        change("peak_rss_bytes"),
        change("faults"),
        change("cpu_s"),
        change_of(
            [each.copied_bytes + after.recorded_hand_copies for each in unchanged],
            [each.copied_bytes + after.hand_copies for each in changed],
        ),
        tuple(zip(quarters(unchanged, before), quarters(changed, before), strict=True)),
        max(each.failed_calls for each in (*unchanged, *changed)),
    )


def change_of(before: Sequence[float], after: Sequence[float]) -> Change:
    pairs = [b - a for a, b in zip(before, after, strict=True)]
    return Change(median(before), median(after), median(pairs), min(pairs), max(pairs))


def quarters(runs: Sequence[Performance], before: Script) -> list[float | None]:
    """The greatest RSS in each quarter of the recorded time, a median of the runs; None: a quarter was over before any run could be sampled."""
    of_runs = [_greatest(each, max(before.duration_ns, 1)) for each in runs]
    cells = [[cell for cell in column if cell is not None] for column in zip(*of_runs, strict=True)]
    return [median(cell) if cell else None for cell in cells]


def _greatest(performed: Performance, duration_ns: int) -> list[float | None]:
    """Samples are a millisecond apart or more, and a heap of 30 MiB is built in twenty: one that lies just before the end of a quarter in one
    run, and just behind it in another, differed by 66 %. So the RSS at both ends of a quarter is interpolated."""
    times, sizes = [0], [0.0]
    for sample in sorted(performed.rss, key=lambda each: each.recorded_ns):
        times.append(min(sample.recorded_ns, duration_ns))
        sizes.append(sample.bytes)
    cells: list[float | None] = []
    for quarter in range(QUARTERS):
        first, last = (duration_ns * end // QUARTERS for end in (quarter, quarter + 1))
        begin = bisect_left(times, first, 1)
        end = len(times) if quarter == QUARTERS - 1 else bisect_left(times, last, 1)
        if begin == end:
            cells.append(None)
            continue
        at_ends = [_between(times, sizes, first, begin), _between(times, sizes, last, end)]
        cells.append(max(*sizes[begin:end], *at_ends))
    return cells


def _between(times: Sequence[int], sizes: Sequence[float], at_ns: int, after: int) -> float:
    """The RSS at a time before sample `after`; behind the last sample, that of the last."""
    if after >= len(times):
        return sizes[-1]
    step = times[after] - times[after - 1]
    part = (at_ns - times[after - 1]) / step if step else 1.0
    return sizes[after - 1] + part * (sizes[after] - sizes[after - 1])
