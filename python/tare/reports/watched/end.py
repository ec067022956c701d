"""The end of a watched process: an out-of-memory kill or not, by which counters, the heap then, and the sites that had grown."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tare.naming.brief_names import brief
from tare.reports.watched import memory_kill
from tare.text.terminal import shorten
from tare.text.units import duration, human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording
    from tare.watch.notes import Note

_MOST_SITES = 5


def watched_end(recording: Recording) -> list[str]:
    """Empty: no final snapshot of a watched process."""
    from tare.analysis import watched

    note = watched.note_of(recording)
    if note is None or note.reason == "ended":
        return []
    if note.reason == "silent":
        return [
            "the process isn't visible to the watcher, and wrote nothing for a while: it may be idle, or it was killed"
        ]
    return [_how(note), _heap(note)]


def _how(note: Note) -> str:
    seen = f"between {_clock(note.seen_ns)} and {_clock(note.found_ns)} UTC" if note.seen_ns else ""
    ended = ""
    if note.stopped and not note.signal:  # the recorder deletes the file at an exit only while it records
        ended = f"the process has ended, perhaps in order: its recorder had stopped before, because {note.stopped}"
    return memory_kill.sentence(note.oom, signal=note.signal, kind="watched", seen=seen, ended=ended)


def _heap(note: Note) -> str:
    ago = max(note.found_ns - note.updated_ns, 0)
    return (
        f"the heap was {human_bytes(note.live_bytes)} ± {human_bytes(note.live_bytes_error)} (one standard error) at {_clock(note.updated_ns)} UTC, "
        f"{duration(ago)} before the watcher found the end: an estimate from one allocation in {human_bytes(note.sample_bytes)}; the true size "
        "is within twice the error in 95 of 100 cases"
    )


def growth_lines(recording: Recording, width: int) -> Iterator[str]:
    """Of a final snapshot, compared with an earlier one."""
    from tare.analysis import watched
    from tare.reports.text_parts import wrapped

    note = watched.note_of(recording)
    if note is None or note.reason == "ended":
        return
    growth = watched.growth_of(recording)
    if growth is None:
        yield from wrapped("growth before the end: unknown, no earlier snapshot of the process is left", width)
        return
    ago = duration((growth.until.time_ms - growth.since.time_ms) * 1e6)
    sign = "+" if growth.change_bytes >= 0 else ""
    yield from wrapped(
        f"growth in the {ago} before the end (since {growth.since.name}): {sign}{human_bytes(growth.change_bytes)} ± "
        f"{human_bytes(growth.error_bytes)}",
        width,
    )
    if not growth.sites:
        yield from wrapped("  no site grew by more than twice its standard error", width)
    for each in growth.sites[:_MOST_SITES]:
        named = each.stack[0]
        head = f"  {'+' + human_bytes(each.grown_bytes):>10} ± {human_bytes(each.error_bytes):<8}  "
        place = f" {named.place}" if named.place else ""
        yield shorten(f"{head}{brief(named.name, max(width - len(head) - len(place), 12))}{place}", width)
    if len(growth.sites) > _MOST_SITES:
        yield f"  {plural(len(growth.sites) - _MOST_SITES, 'more site')}"


def as_json(recording: Recording) -> dict[str, Any] | None:
    """None: no final snapshot of a watched process."""
    from tare.analysis import watched
    from tare.reports.json_report import frame

    note = watched.note_of(recording)
    if note is None:
        return None
    growth = watched.growth_of(recording) if note.reason != "ended" else None
    return {
        "reason": note.reason,
        **memory_kill.facts(note.oom),
        "signal": note.signal or None,
        "live_bytes": round(note.live_bytes),
        "live_bytes_error": round(note.live_bytes_error),
        "updated_ns": note.updated_ns,
        "found_ns": note.found_ns,
        "growth": growth
        and {
            "since": growth.since.name,
            "change_bytes": round(growth.change_bytes),
            "error_bytes": round(growth.error_bytes),
            "sites": [
                {
                    "grown_bytes": round(each.grown_bytes),
                    "error_bytes": round(each.error_bytes),
                    "live_bytes": round(each.live_bytes),
                    "stack": [frame(f) for f in each.stack],
                }
                for each in growth.sites
            ],
        },
    }


def _clock(ns: int) -> str:
    """`14:02:11`; a note may have any number."""
    try:
        return datetime.fromtimestamp(ns // 10**9, timezone.utc).strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "?"
