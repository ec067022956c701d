"""Records: the heap at one moment or over the run, a site each, as DMD prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.errors import USAGE, TareError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

SORTS = ("usable", "requested", "slop", "blocks", "byte-seconds")
_SHOWN_SIZES = 8


class Size(NamedTuple):
    """Blocks of one size at a site."""

    usable_bytes: int
    requested_bytes: int
    blocks: float


class Record(NamedTuple):
    site_id: int
    blocks: float
    requested_bytes: float
    usable_bytes: float
    gross_bytes: float
    byte_ns: float | None  # None: an import without times
    calls: float
    sizes: list[Size]  # largest share first; filled for shown records only
    size_kinds: int
    stack: list[Frame]

    @property
    def slop_bytes(self) -> float:
        return self.usable_bytes - self.requested_bytes


class Page(NamedTuple):
    """The chosen records, and the total that they are a part of."""

    records: list[Record]
    matching: int  # records there are, after filters
    gross_bytes: float  # of all of the moment, before filters
    blocks: float


def query(recording: Recording, counted: str, sort: str, filters: Sequence[str], limit: int | None) -> Page:
    """`counted` is the column of site_sizes to sum over: peak_blocks, end_blocks, at_blocks or total_blocks."""
    database = recording.database
    database.use("site_sizes", "sites", "stack_sites")
    order = {
        "usable": "usable_bytes",
        "requested": "requested_bytes",
        "slop": "slop_bytes",
        "blocks": "blocks",
        "byte-seconds": "byte_ns",
    }[sort]
    rows = database.rows(
        f"""
        select s.site_id, sum({counted}) as blocks, sum(requested_bytes * {counted}) as requested_bytes,
               sum(usable_bytes * {counted}) as usable_bytes, sum((usable_bytes + header_bytes) * {counted}) as gross_bytes,
               sum(byte_ns) as byte_ns, sum(total_blocks) as calls,
               count(distinct case when {counted} > 0 then usable_bytes end) as size_kinds,
               sum((usable_bytes - requested_bytes) * {counted}) as slop_bytes
        from site_sizes z join stack_sites s on s.stack_id = z.stack_id
        group by s.site_id having sum({counted}) > 0
        order by {order} desc, gross_bytes desc, s.site_id
        """
    )
    gross, blocks = sum(row[4] for row in rows), sum(row[1] for row in rows)
    if filters:
        stacks = recording.site_stacks([row[0] for row in rows])
        rows = [row for row in rows if matches(stacks[row[0]], filters)]
    shown = rows if limit is None else rows[:limit]
    ids = [row[0] for row in shown]
    stacks = recording.site_stacks(ids)
    sizes: dict[int, list[Size]] = {site_id: [] for site_id in ids}
    if ids:
        for site_id, *size in database.rows(
            f"""
            select s.site_id, usable_bytes, min(requested_bytes), sum({counted}) as blocks
            from site_sizes z join stack_sites s on s.stack_id = z.stack_id
            where {counted} > 0 and s.site_id in ({",".join(map(str, ids))})
            group by s.site_id, usable_bytes order by usable_bytes * blocks desc, usable_bytes desc
            """
        ):
            sizes[site_id].append(Size(*size))
    records = [
        Record(
            site_id,
            blocks_here,
            requested,
            usable,
            gross_here,
            byte_ns,
            calls,
            sizes[site_id],
            kinds,
            stacks[site_id],
        )
        for site_id, blocks_here, requested, usable, gross_here, byte_ns, calls, kinds, _ in shown
    ]
    return Page(records, len(rows), gross, blocks)


def matches(stack: Sequence[Frame], filters: Sequence[str]) -> bool:
    """Every filter must hold: the text is in some frame, or with `!` in none."""
    texts = [f"{frame} {frame.file} {frame.module}" for frame in stack]
    for wanted in filters:
        negated = wanted.startswith("!")
        needle = wanted[1:] if negated else wanted
        if any(needle in text for text in texts) == negated:
            return False
    return True


def sizes_line(record: Record) -> str:
    """`Individual block sizes: 4,096 x 3; 24 x 2`, as DMD has it."""
    from tare.text.units import exact

    parts = [
        exact(size.usable_bytes) + (f" x {exact(size.blocks)}" if round(size.blocks) != 1 else "")
        for size in record.sizes
    ]
    more = len(parts) - _SHOWN_SIZES
    if more > 0:
        parts = [*parts[:_SHOWN_SIZES], f"({more} more)"]
    return "; ".join(parts)


def parse_time(text: str) -> int:
    """`1.5s`, `300ms`, `2min`, or plain seconds: nanoseconds since the start."""
    from tare.text.durations import parse_duration

    try:
        return round(parse_duration(text) * 1e9)
    except (OverflowError, ValueError):
        raise TareError(USAGE, f"--at needs peak, end or a time such as 1.5s or 300ms: '{text}'") from None
