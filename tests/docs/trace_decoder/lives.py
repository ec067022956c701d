"""Blocks from birth to death, as a trace's events tell them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trace_decoder.tables import (
    ALLOCATION,
    DIGEST,
    FREE,
    MAPPING_GOES,
    NEW_DIGEST,
    REALLOC_END,
    REALLOC_START,
    Event,
    Shape,
    Trace,
)

MREMAP = 3
FORK_THREAD, FORK_EVENTS, FORK_STAMP = 18, 19, 20


@dataclass
class Life:
    address: int
    shape: Shape
    birth: Event | None = None  # none: inherited
    death: Event | None = None
    grown_from: int | None = None  # its place in the list of lives


def lives_of(events: list[Event], shapes: list[Shape], inherited: list[Life]) -> list[Life]:
    """In order of birth, the inherited first."""
    lives = list(inherited)
    living = {life.address: i for i, life in enumerate(lives)}
    moved: dict[int, int | None] = {}
    for event in events:
        if event.kind in (FREE, REALLOC_END):
            at = living.pop(event.address, None)
            if at is not None:
                lives[at].death = event
            if event.kind == REALLOC_END:
                moved[event.thread] = at
        elif event.kind in (ALLOCATION, REALLOC_START):
            assert event.address not in living, f"a block begins on a living one: {event}"
            living[event.address] = len(lives)
            grown_from = moved.pop(event.thread) if event.kind == REALLOC_START else None
            lives.append(Life(event.address, shapes[event.entry], event, None, grown_from))
    return lives


def inherited_by(child: Trace, parent: Trace) -> list[Life]:
    """Live blocks of a parent that inherited nothing itself, at the fork that made the child."""
    made_events = child.number(FORK_EVENTS)
    before = []
    for event in parent.events:
        if event.thread != child.number(FORK_THREAD):
            if event.stamp <= child.number(FORK_STAMP):
                before.append(event)
        elif made_events > 0:
            before.append(event)
            made_events -= not is_first_of_two(parent, event)
    lives = lives_of(before, parent.shapes, [])
    return [replace(life, birth=None) for life in lives if life.death is None]


def carried_into(segment: Trace) -> list[Life]:
    """Blocks that were live when the segment began."""
    return [Life(address, segment.live.dictionary.shapes[shape]) for address, shape in segment.live.blocks]


def is_first_of_two(trace: Trace, event: Event) -> bool:
    """Whether the call has a record more, which then counts as the made event."""
    if event.kind == MAPPING_GOES:
        return trace.shapes[event.entry].api == MREMAP
    if event.kind == NEW_DIGEST:
        return bool(event.api & 4)
    return event.kind in (REALLOC_END, DIGEST)
