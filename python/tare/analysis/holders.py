"""The lines that hold most of the heap at its peak, and those that mapped most memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MOST_NAMED = 12  # rows whose names are compared: calls of one macro have equal names


def largest_holders(recording: Recording, count: int = 3) -> list[tuple[Frame, float]]:
    """With their gross bytes; lines that read the same are one."""
    return _largest(recording, "site_sizes", "(z.usable_bytes + z.header_bytes) * z.peak_blocks", count)


def largest_mappings(recording: Recording, count: int = 3) -> list[tuple[Frame, float]]:
    """The lines that mapped most of the program's own mappings, with the bytes that were resident near the peak RSS."""
    return _largest(recording, "mappings", "z.resident_bytes", count)


def _largest(recording: Recording, table: str, amount: str, count: int) -> list[tuple[Frame, float]]:
    database = recording.database
    database.use(table, "sites", "stack_sites")
    rows = database.rows(
        f"select t.site_location_id, sum({amount}) from {table} z"
        " join stack_sites s on s.stack_id = z.stack_id join sites t on t.site_id = s.site_id"
        f" group by t.site_location_id order by 2 desc, 1 limit {_MOST_NAMED}"
    )
    recording.names.prepare(row for row, _ in rows if row is not None)
    sums: dict[object, tuple[Frame, float]] = {}
    for row, size in rows:
        if size:
            frame = recording.names.at(row)
            sums[frame.reads] = (frame, size + sums.get(frame.reads, (frame, 0.0))[1])
    return sorted(sums.values(), key=lambda each: -each[1])[:count]
