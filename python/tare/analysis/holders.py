"""The lines that hold most of the heap at its peak, and those that mapped most memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MOST_NAMED = 12  # rows whose names are compared: calls of one macro have equal names


def largest_holders(recording: Recording, count: int = 3) -> list[tuple[Frame, float]]:
    """With their gross bytes; lines that read the same are one."""
    database = recording.database
    database.use("site_sizes", "sites", "stack_sites")
    rows = database.rows(
        "select t.site_location_id, sum((z.usable_bytes + z.header_bytes) * z.peak_blocks) from site_sizes z"
        " join stack_sites s on s.stack_id = z.stack_id join sites t on t.site_id = s.site_id"
        f" group by t.site_location_id order by 2 desc, 1 limit {_MOST_NAMED}"
    )
    return _by_name(recording, rows)[:count]


def _by_name(recording: Recording, rows: Sequence[tuple[int | None, float]]) -> list[tuple[Frame, float]]:
    recording.names.prepare(row for row, _ in rows if row is not None)
    sums: dict[object, tuple[Frame, float]] = {}
    for row, size in rows:
        if size:
            frame = recording.names.at(row)
            sums[frame.reads] = (frame, size + sums.get(frame.reads, (frame, 0.0))[1])
    return sorted(sums.values(), key=lambda each: -each[1])


def largest_mappings(recording: Recording, count: int = 3) -> list[tuple[Frame, float]]:
    """The lines that mapped most of the program's own mappings, with the bytes that were resident near the peak RSS."""
    database = recording.database
    database.use("mappings", "sites", "stack_sites")
    rows = database.rows(
        "select t.site_location_id, sum(m.resident_bytes) from mappings m"
        " join stack_sites s on s.stack_id = m.stack_id join sites t on t.site_id = s.site_id"
        f" group by t.site_location_id order by 2 desc, 1 limit {_MOST_NAMED}"
    )
    return _by_name(recording, rows)[:count]
