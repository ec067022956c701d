"""The heap over time: exact sums at the ends of the intervals that ranges are made of, or rows of `timeline` where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tare.analysis.recording import Recording


class Step(NamedTuple):
    """The end of an interval of time."""

    interval: int
    end_ns: int
    gross_bytes: float
    requested_bytes: float
    blocks: float
    allocations: float  # in the interval


def by_intervals(recording: Recording) -> list[Step]:
    """From `lifetimes`."""
    database = recording.database
    database.use("lifetimes", "intervals")
    ends = database.rows("select interval, end_ns from intervals order by interval")
    place = {interval: number for number, (interval, _) in enumerate(ends)}
    changes = [[0.0, 0.0, 0.0, 0.0] for _ in ends]
    for birth, death, *amounts in database.rows(
        "select allocated_interval, freed_interval, sum(blocks * (usable_bytes + header_bytes)), sum(blocks * requested_bytes), sum(blocks)"
        " from lifetimes group by allocated_interval, freed_interval"
    ):
        begin = changes[place[birth] if birth is not None else 0]
        for number, amount in enumerate(amounts):
            begin[number] += amount
            if death is not None:
                changes[place[death]][number] -= amount
        if birth is not None:
            begin[3] += amounts[2]
    steps = []
    live = [0.0, 0.0, 0.0]
    for (interval, end_ns), change in zip(ends, changes, strict=True):
        live = [at + by for at, by in zip(live, change, strict=False)]
        steps.append(Step(interval, end_ns, live[0], live[1], live[2], change[3]))
    return steps


def by_timeline(recording: Recording) -> list[Step]:
    """From `timeline`: also of a recording in progress. Its rows aren't intervals that a range can have."""
    recording.database.use("timeline")
    rows = recording.database.rows(
        "select time_ns, gross_bytes, requested_bytes, blocks, alloc_events from timeline order by time_ns"
    )
    return [Step(number, *row) for number, row in enumerate(rows)]


def columns(steps: list[Step], width: int) -> list[list[Step]]:
    """So many groups of neighbouring steps by time, each with at least one: a group may repeat the one before."""
    if not steps or width <= 0:
        return []
    end = max(steps[-1].end_ns, 1)
    groups: list[list[Step]] = []
    at = 0
    for number in range(width):
        limit = end * (number + 1) / width
        begin = at
        while at < len(steps) and (steps[at].end_ns <= limit or number == width - 1):
            at += 1
        groups.append(steps[begin:at] or (groups[-1][-1:] if groups else steps[:1]))
    return groups
