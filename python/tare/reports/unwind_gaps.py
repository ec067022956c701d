"""Stacks that end too early because unwind tables are missing, and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.text.units import plural

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

_MOST_FILES = 3
_LEAST_SHARE = 0.001  # of the allocations: 34 cut stacks of node's 483,000 took four lines of the first screen


def unwind_gaps(recording: Recording) -> list[str]:
    """A line for each of the first files whose code ends stacks; none if these are few of all stacks."""
    recording.database.use("unwind_gaps", "modules")
    gaps = recording.database.rows(
        "select path, location_id, stacks from unwind_gaps left join modules using (module_id) order by stacks desc, path"
    )
    process = recording.process
    allocations = (process["alloc_events"] or 0) + (process["realloc_events"] or 0)
    if sum(stacks for *_, stacks in gaps) < _LEAST_SHARE * allocations:
        return []
    lines = [_line(recording, path, location_id, stacks) for path, location_id, stacks in gaps[:_MOST_FILES]]
    if rest := gaps[_MOST_FILES:]:
        lines.append(
            f"so do {plural(sum(stacks for *_, stacks in rest), 'stack')} in {plural(len(rest), 'other file')}"
        )
    return lines


def _line(recording: Recording, path: str | None, location_id: int, stacks: int) -> str:
    ended = plural(stacks, "stack ends", "stacks end")
    if path is None:
        return f"{ended} in code made at run time, which has no unwind tables: its callers aren't known"
    file = path.rpartition("/")[2]
    function = recording.names.at(location_id).function
    where = f"{function} of {file}" if function else file
    return (
        f"{ended} in {where}, which has no unwind table (.eh_frame): callers aren't known; compile with "
        "-fasynchronous-unwind-tables, link with --eh-frame-hdr, write .cfi directives in assembler"
    )
