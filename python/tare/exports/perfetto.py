"""Trace events of Chrome (JSON): the heap over time as counters, snapshots as instants. Perfetto's UI and chrome://tracing open them.

Perfetto opens pprof's format too, for stacks.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection

_NS = 1000  # events are in microseconds


def write(recording: Recording, _: Selection, out: IO[bytes]) -> None:
    process = recording.process
    pid = process["pid"]

    def event(phase: str, name: str, time_ns: int, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"ph": phase, "name": name, "pid": pid, "tid": pid, "ts": time_ns / _NS, "args": arguments, **more}

    recording.database.use("timeline", "snapshots")
    events = [event("M", "process_name", 0, {"name": process["program"]})]
    for time, requested, gross, blocks, mapped, allocations, frees in recording.database.rows(
        "select time_ns, requested_bytes, gross_bytes, blocks, mapped_bytes, alloc_events, free_events from timeline"
        " order by time_ns"
    ):
        # Stacked: requested bytes below, and above them the rest of gross.
        over = max(0, round(gross) - round(requested))
        events.append(event("C", "heap bytes", time, {"requested": round(requested), "slop and headers": over}))
        events.append(event("C", "blocks", time, {"live": round(blocks)}))
        events.append(event("C", "mapped bytes", time, {"mapped": mapped}))
        events.append(event("C", "calls in the interval", time, {"allocations": allocations, "frees": frees}))
    if process["peak_time_ns"] is not None:
        gross = {"gross_bytes": process["peak_gross_bytes"]}
        events.append(event("i", "peak", process["peak_time_ns"], gross, s="p"))
    for kind, name, time in recording.database.rows(
        "select kind, name, time_ns from snapshots where time_ns is not null order by time_ns"
    ):
        events.append(event("i", f"snapshot {name or kind}", time, {}, s="p"))
    out.write(json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, separators=(",", ":")).encode())
