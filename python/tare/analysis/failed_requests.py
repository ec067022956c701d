"""Requests that the allocator couldn't serve, the last one first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame


class FailedRequests(NamedTuple):
    """Those of one line through one entry point."""

    frame: Frame
    api: str
    requests: int
    min_requested_bytes: int
    max_requested_bytes: int
    first_ns: int | None
    last_ns: int | None
    last_requested_bytes: int
    last_number: int  # among all of the process, from 1


def failed_requests(recording: Recording, count: int | None = None) -> list[FailedRequests]:
    """At most so many; None: all."""
    database = recording.database
    database.use("failed_requests", "sites", "stack_sites")
    rows = database.rows(
        "select t.site_location_id, f.api, f.requests, f.min_requested_bytes, f.max_requested_bytes,"
        " f.first_ns, f.last_ns, f.last_requested_bytes, f.last_number from failed_requests f"
        " join stack_sites s on s.stack_id = f.stack_id join sites t on t.site_id = s.site_id"
        " order by f.last_number desc"
    )
    # The line that a stack is named by isn't a key: several stacks may share it.
    sums: dict[tuple[int | None, str], list[Any]] = {}
    for location, *row in rows:
        known = sums.setdefault((location, row[0]), row)
        if known is not row:
            known[1] += row[1]
            known[2] = min(known[2], row[2])
            known[3] = max(known[3], row[3])
            known[4] = min(known[4], row[4])
    chosen = list(sums.items())[:count]
    recording.names.prepare(location for (location, _), _ in chosen if location is not None)
    return [FailedRequests(recording.names.at(location), *row) for (location, _), row in chosen]


def ended_badly(process: Mapping[str, Any]) -> bool:
    """True if a signal or a status other than 0 ended the program."""
    return bool(process["wait_status"])
