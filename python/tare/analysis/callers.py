"""The functions that call the line which names a finding: if it copies or allocates for others, the change belongs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.recording import Recording
    from tare.analysis.worth import Entry
    from tare.naming.names import Frame

_LEAST_SHARE = 0.25
_MOST_CALLERS = 3


class Caller(NamedTuple):
    frame: Frame
    share: float  # of the line's bytes at the peak, or of its calls where the finding returns none


def callers(recording: Recording, entries: Sequence[Entry]) -> list[list[Caller]]:
    """Of each entry, the largest first."""
    rows = sorted({row for each in entries if (row := each.finding.site_location_id) is not None})
    if not rows:
        return [[] for _ in entries]
    found: dict[int, list[tuple[int | None, float, float]]] = {}
    for row, caller, peak_bytes, calls in recording.source.line_callers(rows):
        found.setdefault(row, []).append((caller, peak_bytes, calls))
    recording.names.prepare([*rows, *(caller for each in found.values() for caller, *_ in each if caller is not None)])
    return [_of(recording, entry, found) for entry in entries]


def _of(recording: Recording, entry: Entry, found: dict[int, list[tuple[int | None, float, float]]]) -> list[Caller]:
    row = entry.finding.site_location_id
    if row is None:
        return []
    inlined_into = recording.names.callers(row)[1:]
    if inlined_into:
        return [Caller(inlined_into[0], 1.0)]
    of_peak = bool(entry.worth.gain_peak_bytes)
    amounts = [(caller, peak_bytes if of_peak else calls) for caller, peak_bytes, calls in found.get(row, ())]
    whole = sum(amount for _, amount in amounts)
    sums: dict[object, Caller] = {}
    for caller, amount in sorted(amounts, key=lambda each: -each[1]):
        if caller is not None and whole > 0:
            frame = recording.names.frames(caller)[0]
            key = (frame.module, frame.function) if frame.function else frame
            first = sums.get(key, Caller(frame, 0.0))
            sums[key] = first._replace(share=first.share + amount / whole)
    largest = sorted((each for each in sums.values() if each.share >= _LEAST_SHARE), key=lambda each: -each.share)
    return largest[:_MOST_CALLERS]
