"""Samples, from which all profiles are made: each stack and size of block, with its sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.analysis import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame


class Sample(NamedTuple):
    """Blocks of one usable size that one stack allocated. Spaces are gross bytes: usable bytes and headers."""

    stack_id: int
    usable_bytes: int
    total_blocks: int
    total_bytes: int
    peak_blocks: int
    peak_bytes: int
    end_blocks: int
    end_bytes: int
    tare_bytes: int  # granted to lenses at the peak


# The fields of Sample that have a value a profile; in the order that pprof's heap profiles have, tare behind them.
MEASURES = {
    "alloc_objects": ("total_blocks", "count"),
    "alloc_space": ("total_bytes", "bytes"),
    "inuse_objects": ("peak_blocks", "count"),
    "inuse_space": ("peak_bytes", "bytes"),
    "tare_space": ("tare_bytes", "bytes"),
}


def samples(recording: Recording) -> list[Sample]:
    """Ordered by stack and size. Weighted blocks of a sampled recording are rounded once, for each stack and size."""
    recording.database.use("site_sizes")
    gross = "usable_bytes + header_bytes"
    rows = recording.database.rows(
        f"""
        with granted as (select shape_id, sum(bytes_peak) as tare from ({recording.ledger.grants()}) group by shape_id)
        select stack_id, usable_bytes, sum(total_blocks), sum(total_blocks * ({gross})), sum(peak_blocks),
               sum(peak_blocks * ({gross})), sum(end_blocks), sum(end_blocks * ({gross})), coalesce(sum(g.tare), 0)
        from site_sizes z left join granted g on g.shape_id = z.shape_id
        group by stack_id, usable_bytes order by stack_id, usable_bytes
        """
    )
    return [Sample(stack_id, *(round(value) for value in values)) for stack_id, *values in rows]


def prepare_names(recording: Recording, found: list[Sample]) -> None:
    """Looks up all names in one batch."""
    folded.prepare_names(recording, {sample.stack_id for sample in found})


def frames_of(recording: Recording, stack_id: int) -> list[Frame]:
    """Innermost first."""
    return recording.names.stack(stack_id, folded.WHOLE_STACK)


class Tree:
    """The stacks of a recording as one tree of frames, outermost first, for formats of trees."""

    def __init__(self) -> None:
        self.children: list[dict[Frame, int]] = [{}]
        self.frames: list[Frame | None] = [None]
        self.values: list[int] = [0]

    def add(self, stack: list[Frame], value: int) -> None:
        node = 0
        for frame in reversed(stack):
            below = self.children[node].get(frame)
            if below is None:
                below = len(self.frames)
                self.children[node][frame] = below
                self.children.append({})
                self.frames.append(frame)
                self.values.append(0)
            node = below
        self.values[node] += value

    def below(self, node: int) -> Iterator[int]:
        return iter(self.children[node].values())
