"""The one screen at the end of `tare run`: what the heap weighed, how much of it was packaging, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.reports.text_parts import caveats, finding_lines, who
from tare.terminal import shorten, shorten_path
from tare.units import duration, human_bytes, human_count, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.recording import Recording
    from tare.terminal import Style

_SCREEN_LINES = 24  # findings stop where a small terminal would scroll
_OTHERS_SHOWN = 4


class Image(NamedTuple):
    """A recorded process image, as the list of processes shows it."""

    path: str
    program: str
    pid: int
    events: int
    file_bytes: int


def summary(recording: Recording, images: Sequence[Image], style: Style, width: int) -> Iterator[str]:
    process, peak, total = recording.process, recording.moments["peak"], recording.moments["total"]
    yield style(f"tare: {who(recording)}", "bold")
    for line in caveats(recording):
        yield style(shorten(f"note: {line}", width), "yellow")
    about = "~" if recording.sampled else ""
    yield (
        f"peak {about}{human_bytes(peak.gross_bytes)} gross at {duration(process['peak_time_ns'])} = "
        f"net {about}{human_bytes(peak.net_bytes or 0)} + "
        + style(
            f"tare {about}{human_bytes(peak.tare_bytes or 0)} ({percent(peak.tare_bytes or 0, peak.gross_bytes)})",
            "yellow",
        )
    )
    parts = [
        f"{lens.lens} {human_bytes(lens.bytes_peak)}"
        for lens in recording.ledger.lens_totals()
        if lens.weight == "tare"
    ]
    yield f"tare by lens: {', '.join(parts)}"
    yield (
        f"in all {about}{human_count(total.blocks)} blocks, {about}{human_bytes(total.requested_bytes)} requested; "
        f"at the end {about}{human_count(recording.moments['end'].blocks)} blocks, "
        f"{about}{human_bytes(recording.moments['end'].gross_bytes)}"
    )
    yield from _findings(recording, style, width)
    yield from _processes(images, width)
    yield f"next: tare report {_quoted(images[0].path)}   tare counts …   tare report … --lens growth   tare sql …"


def _findings(recording: Recording, style: Style, width: int) -> Iterator[str]:
    tops = [
        (lens, [finding for finding in recording.ledger.findings(lens, by="site_row", limit=3) if finding.shown])
        for lens in recording.ledger.lenses
    ]
    tops = [(lens, found) for lens, found in tops if found]
    if not tops:
        yield "no lens found anything above its threshold"
        return
    each = max(1, min(3, (_SCREEN_LINES - 7 - len(tops)) // (3 * len(tops))))
    shown = [finding for _, found in tops for finding in found[:each]]
    frames = iter(recording.finding_frames(shown))
    for lens, found in tops:
        label = "" if lens.weight == "tare" else " (potential)"
        yield style(lens.name, "cyan") + label
        for finding in found[:each]:
            yield from finding_lines(finding, lens, next(frames), style, width, 2)


def _processes(images: Sequence[Image], width: int) -> Iterator[str]:
    first, others = images[0], images[1:]
    yield shorten(f"trace: {shorten_path(first.path, width - 20)} ({human_bytes(first.file_bytes)})", width)
    if not others:
        return
    largest = sorted(others, key=lambda image: -image.events)[:_OTHERS_SHOWN]
    yield f"{len(others)} more recorded:"
    for image in largest:
        yield shorten(f"  {image.program} (pid {image.pid}), {human_count(image.events)} events: {image.path}", width)
    if len(others) > len(largest):
        yield f"  ({len(others) - len(largest)} more: {_quoted(first.path)}.*)"


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
