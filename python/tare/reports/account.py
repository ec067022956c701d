"""The account of a process as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.analysis.account import way_to_see_more
from tare.reports.text_parts import wrapped
from tare.text.units import human_bytes, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.account import Part
    from tare.analysis.recording import Recording

# Smaller parts of a peak RSS are joined, so that the line stays short.
_LEAST_SHARE = 0.01
_LEAST_PAGE_TABLES = 1 << 20


def lines(recording: Recording, width: int) -> Iterator[str]:
    """One sentence for the first screen, and one that names a way to see more; nothing where the peak RSS is unknown."""
    found = recording.account
    if found is None:
        return
    whole = found.peak_rss_bytes

    def text(label: str, size: int, bound: str = "") -> str:
        return f"{label} {bound}{human_bytes(size)} ({percent(size, whole)})"

    shown = [part for part in found.parts if part.bytes >= _LEAST_SHARE * whole]
    parts = [text(part.name, part.bytes, _bound(part, whole)) for part in shown]
    small = sum(part.bytes for part in found.parts) - sum(part.bytes for part in shown)
    if small >= _LEAST_SHARE * whole:
        parts.append(text("small parts", small))
    if found.unexplained_bytes >= _LEAST_SHARE * whole:
        parts.append(text("unexplained", found.unexplained_bytes))
    tables = found.page_table_bytes or 0
    beside = (
        f"; page tables {human_bytes(tables)} beside it"
        if tables >= max(_LEAST_PAGE_TABLES, _LEAST_SHARE * whole)
        else ""
    )
    yield from wrapped(
        f"peak RSS {human_bytes(whole)}{' before the recording' if found.is_earlier else ''}: {', '.join(parts)}{beside}",
        width,
    )
    pools = found.pools
    if pools and pools.held_bytes >= _LEAST_SHARE * whole:
        yield from wrapped(
            f"  pools held {human_bytes(pools.held_bytes)} at the heap's peak: {human_bytes(pools.used_bytes)} in blocks,"
            f" {human_bytes(pools.free_bytes)} free or headers",
            width,
        )
    if advice := way_to_see_more(recording, found):
        yield from wrapped(f"  {advice}", width)


def _bound(part: Part, whole: int) -> str:
    """Bounds closer than the shown precision aren't mentioned."""
    below, above = ((part.bytes - part.least_bytes), (part.most_bytes - part.bytes))
    lowest = _LEAST_SHARE * whole
    if below < lowest and above < lowest:
        return ""
    return "at most " if above < lowest else "at least " if below < lowest else "about "


def as_json(recording: Recording) -> dict[str, Any] | None:
    found = recording.account
    if found is None:
        return None
    return {
        "peak_rss_bytes": found.peak_rss_bytes,
        "peak_before_recording": found.is_earlier,
        "recorder_bytes": found.recorder_bytes,
        "source": found.source.value,
        "parts": [
            {
                "name": part.name,
                "bytes": part.bytes,
                "exact": part.is_exact,
                "least_bytes": part.least_bytes,
                "most_bytes": part.most_bytes,
            }
            for part in found.parts
        ],
        "unexplained_bytes": found.unexplained_bytes,
        "huge_page_bytes": found.huge_page_bytes,
        "page_table_bytes": found.page_table_bytes,
        "pools": None
        if found.pools is None
        else {
            "held_bytes": found.pools.held_bytes,
            "used_bytes": found.pools.used_bytes,
            "free_bytes": found.pools.free_bytes,
        },
    }
