"""Bencher's metric format: peak, end and sums of the recording, under the program's name."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection


def write(recording: Recording, _: Selection, out: IO[bytes]) -> None:
    moments, process = recording.moments, recording.process
    measures = {
        "heap-peak-bytes": moments["peak"].gross_bytes,
        "heap-peak-tare-bytes": moments["peak"].tare_bytes,
        "heap-end-bytes": moments["end"].gross_bytes,
        "heap-allocations": moments["total"].blocks,
        "heap-allocated-bytes": moments["total"].requested_bytes,
        "peak-rss-bytes": process["peak_rss_bytes"],
    }
    values = {name: {"value": round(value)} for name, value in measures.items() if value is not None}
    out.write(json.dumps({process["program"]: values}, indent=1).encode() + b"\n")
