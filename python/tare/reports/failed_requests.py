"""The request that failed last: often the reason why a program ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.analysis.failed_requests import ended_badly, failed_requests
from tare.naming.brief_names import brief
from tare.reports.text_parts import wrapped
from tare.text.units import duration, human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording

_MOST_NAME = 60
_LARGEST = 2**63 - 1  # stands for all sizes that the table can't hold


def lines(recording: Recording, width: int, *, after_bad_end: bool = False) -> Iterator[str]:
    """`the last request that failed: malloc of 8.00 GiB in build_index index.cc:42, 200 ms before the end`; mostly none.

    `after_bad_end`: only if a signal or a status other than 0 ended the program.
    """
    if after_bad_end and not ended_badly(recording.process):
        return
    found = failed_requests(recording, 1)
    if not found:
        return
    last, process = found[0], recording.process
    size = "8 EiB or more" if last.last_requested_bytes == _LARGEST else human_bytes(last.last_requested_bytes)
    place = f" {last.frame.place}" if last.frame.place else ""
    text = f"the last request that failed: {last.api} of {size} in {brief(last.frame.name, _MOST_NAME)}{place}"
    if last.last_ns is not None and process["duration_ns"] is not None:
        text += f", {duration(max(process['duration_ns'] - last.last_ns, 0))} before the end"
    if last.last_number > 1:
        text += f" ({plural(last.last_number, 'request')} failed)"
    yield from wrapped(text, width)


def as_json(recording: Recording) -> list[dict[str, Any]] | None:
    """By line and entry point, the last one first. None: not known, because no format that is imported has them."""
    if recording.process["imported_from"]:
        return None
    return [
        {
            "function": each.frame.function or None,
            "file": each.frame.file or None,
            "line": each.frame.line,
            "api": each.api,
            "requests": each.requests,
            "min_requested_bytes": each.min_requested_bytes,
            "max_requested_bytes": each.max_requested_bytes,
            "first_ns": each.first_ns,
            "last_ns": each.last_ns,
            "last_requested_bytes": each.last_requested_bytes,
        }
        for each in failed_requests(recording)
    ]
