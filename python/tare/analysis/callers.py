"""The functions that call the line which names a finding: if it copies or allocates for others, the change belongs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.recording import Recording
    from tare.analysis.worth import Entry
    from tare.naming.names import Frame

_PYTHON = "[python]"  # the module of Python's functions
_LEAST_SHARE = 0.25
_MOST_CALLERS = 3


class Caller(NamedTuple):
    frame: Frame
    share: float  # of the line's bytes at the peak, or of its calls where the finding returns none


def callers(recording: Recording, entries: Sequence[Entry]) -> list[list[Caller]]:
    """Of each entry, the largest first. `recording` has whole stacks: folded by line, they have no callers."""
    rows = sorted({row for each in entries if (row := each.finding.site_location_id) is not None})
    if not rows:
        return [[] for _ in entries]
    database = recording.database
    database.use("site_sizes", "stack_sites", "sites", "stacks", "locations", "modules")
    listed = ",".join(str(row) for row in rows)
    sums = database.rows(
        "select t.site_location_id, f.caller_id, case when f.caller_id = 0 then null else c.location_id end,"
        " sum((z.usable_bytes + z.header_bytes) * z.peak_blocks), sum(z.total_blocks)"
        " from site_sizes z join stack_sites s on s.stack_id = z.stack_id join sites t on t.site_id = s.site_id"
        " join stacks f on f.stack_id = t.stack_id join stacks c on c.stack_id = f.caller_id"
        f" where t.site_location_id in ({listed}) group by 1, 2, 3 order by 1, 2"
    )
    recording.names.prepare(rows)
    of_python = {row for row in rows if recording.names.frames(row)[0].module == _PYTHON}
    python_callers = _python_callers(recording, {stack for row, stack, *_ in sums if row in of_python and stack})
    found: dict[int, list[tuple[int | None, float, float]]] = {}
    for row, stack, location, peak_bytes, calls in sums:
        caller = python_callers.get(stack) if row in of_python else location
        found.setdefault(row, []).append((caller, peak_bytes, calls))
    recording.names.prepare([caller for each in found.values() for caller, *_ in each if caller is not None])
    return [_of(recording, entry, found) for entry in entries]


def _python_callers(recording: Recording, stacks: set[int]) -> dict[int, int]:
    """The innermost location of Python in each stack: outside of it are frames of the interpreter."""
    if not stacks:
        return {}
    listed = ",".join(str(stack) for stack in sorted(stacks))
    joined = (
        " from up join stacks s on s.stack_id = up.above join locations l on l.location_id = s.location_id"
        " left join modules m on m.module_id = l.module_id"
    )
    return dict(
        recording.database.rows(
            f"with recursive up(innermost, above) as (select stack_id, stack_id from stacks where stack_id in ({listed})"
            f" union all select up.innermost, s.caller_id{joined} where coalesce(m.path, '') <> '{_PYTHON}' and s.caller_id <> 0)"
            f" select up.innermost, s.location_id{joined} where m.path = '{_PYTHON}'"
        )
    )


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
