"""A process's resident memory in a snapshot: the heap's live blocks and malloc's other memory, files, stacks, the rest. The
parts add up to the RSS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.errors import USAGE, TareError

if TYPE_CHECKING:
    from tare.analysis.recording import Recording


class Part(NamedTuple):
    kind: str  # as in table resident
    name: str  # a file's path
    mapped_bytes: int
    resident_bytes: int
    touched_bytes: int | None  # since the snapshot before


class HeapUse(NamedTuple):
    """The heap's resident bytes: the present parts of live blocks, and the rest, which the allocator keeps."""

    requested_bytes: int
    slop_bytes: int
    header_bytes: int
    absent_bytes: int  # of live blocks: not in memory
    pool_rest_bytes: int | None  # of the live ones: unused memory of pools; null: no such snapshot in site_sizes
    kept_bytes: int  # free, cached by the allocator, or its own books


class Residence(NamedTuple):
    kind: str  # of the snapshot: peak, exit, request
    name: str
    time_ns: int
    resident_bytes: int
    heap: HeapUse
    parts: list[Part]  # largest first


def residence(recording: Recording, at: str | None) -> Residence:
    """At `peak` (the last candidate for it), `end`, or the name of a requested snapshot; by default the last one."""
    database = recording.database
    database.use("snapshots", "resident", "snapshot_sizes", "site_sizes")
    known = database.rows(
        "select snapshot, kind, name, time_ns, coalesce(absent_bytes, 0) from snapshots where snapshot in"
        " (select snapshot from resident) order by snapshot"
    )
    if not known:
        raise TareError(USAGE, "report: --mode rss needs a snapshot: record with tare run --snapshots")
    wanted = {"peak": "peak", "end": "exit"}.get(at or "", at)
    found = [row for row in known if at is None or row[1] == wanted or row[2] == at]
    if not found:
        raise TareError(USAGE, f"report: no snapshot at {at}: use {_listed(known)}")
    return _of_snapshot(recording, *found[-1])


def fullest(recording: Recording) -> Residence | None:
    """Of the snapshot with the most resident memory, without the recorder's; None where no snapshot has such figures."""
    database = recording.database
    database.use("snapshots", "resident", "snapshot_sizes", "site_sizes")
    found = database.rows(
        "select m.snapshot, m.kind, m.name, m.time_ns, coalesce(m.absent_bytes, 0) from snapshots m join"
        " (select snapshot, sum(resident_bytes) as resident from resident where kind <> 'recorder' group by snapshot) r"
        " on r.snapshot = m.snapshot order by r.resident desc, m.snapshot desc limit 1"
    )
    return _of_snapshot(recording, *found[0]) if found else None


def _of_snapshot(recording: Recording, snapshot: int, kind: str, name: str, time_ns: int, absent: int) -> Residence:
    database = recording.database
    parts = [
        Part(*row)
        for row in database.rows(
            "select kind, name, mapped_bytes, resident_bytes, touched_bytes from resident"
            f" where snapshot = {snapshot} order by resident_bytes desc, name"
        )
    ]
    requested, slop, headers = (
        round(value)
        for value in database.row(
            "select coalesce(sum(requested_bytes * blocks), 0), coalesce(sum((usable_bytes - requested_bytes) * blocks), 0),"
            f" coalesce(sum(header_bytes * blocks), 0) from snapshot_sizes where snapshot = {snapshot}"
        )
    )
    heap = sum(part.resident_bytes for part in parts if part.kind == "heap")
    # Blocks that the allocator maps lie in it; a block on a file's pages, or one that a look missed by a page, can't make
    # it negative.
    kept = max(0, heap - (requested + slop + headers - absent))
    return Residence(
        kind,
        name,
        time_ns,
        sum(part.resident_bytes for part in parts),
        HeapUse(requested, slop, headers, absent, _pool_rest(recording, kind), kept),
        parts,
    )


def _listed(known: list[tuple[int, str, str, int, int]]) -> str:
    return ", ".join(dict.fromkeys(row[2] or {"exit": "end"}.get(row[1], row[1]) for row in known))


def _pool_rest(recording: Recording, kind: str) -> int | None:
    column = {"peak": "peak_blocks", "exit": "end_blocks"}.get(kind)
    if column is None:
        return None
    (rest,) = recording.database.row(
        f"select coalesce(sum(usable_bytes * {column}), 0) from site_sizes where api = 'pool memory'"
    )
    return int(rest)
