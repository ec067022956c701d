"""The one screen at the end of `tare run`: the size of the heap, its tare, and the list "do first"."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis import segments
from tare.analysis.not_sought import not_sought
from tare.analysis.quick_recording import quickly
from tare.analysis.worth import ranking
from tare.reports import account, do_first, failed_requests
from tare.reports.text_parts import (
    blocks_text,
    caveats,
    headline,
    unnamed_note,
    wrapped,
)
from tare.text.terminal import shorten, shorten_path
from tare.text.units import duration, human_bytes, human_count, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.recording import Recording, Source
    from tare.analysis.worth import Ranking
    from tare.text.terminal import Style

_MOST_ENTRIES = 4  # of the list; more would scroll a small terminal
_OTHERS_SHOWN = 4
# A driver or a shell that starts the program proper isn't the subject: `g++` makes 400 events, its cc1plus half a
# million. Below this ratio the first process is taken for the one that was meant.
_CHILD_MATTERS = 10


class Image(NamedTuple):
    """A recorded process image, as the list of processes shows it."""

    path: str
    program: str
    pid: int
    events: int
    file_bytes: int
    earlier_segments: int = 0  # files beside `path`; `file_bytes` counts them, and those deleted meanwhile


class Short(NamedTuple):
    """The container of short processes."""

    path: str = ""
    traces: int = 0
    file_bytes: int = 0


def subject(images: Sequence[Image]) -> Image:
    """The image that the summary is about: the first, unless it only started one that did the work."""
    largest = max(images, key=lambda image: image.events)
    return largest if largest.events >= _CHILD_MATTERS * max(images[0].events, 100) else images[0]


def lines(source: Source, images: Sequence[Image], style: Style, width: int, short: Short | None = None) -> list[str]:
    """The screen about `subject(images)`, whose source is given."""
    return quickly(source, lambda recording: list(summary(recording, images, style, width, short)))


def summary(
    recording: Recording, images: Sequence[Image], style: Style, width: int, short: Short | None = None
) -> Iterator[str]:
    """About `subject(images)`, whose recording is given."""
    shown = subject(images)
    process, peak, total = recording.process, recording.moments["peak"], recording.moments["total"]
    for line in wrapped(f"tare: {headline(recording)}", width):
        yield style(line, "bold")
    yield from account.lines(recording, width)
    if shown is not images[0]:
        yield shorten(
            f"note: shown is the process with most events; {images[0].program} started it: tare report {images[0].path}",
            width,
        )
    for note in caveats(recording):
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    for line in failed_requests.lines(recording, width, after_bad_end=True):
        yield style(line, "yellow")
    listed = ranking(recording)
    yield from do_first.lines(recording, listed, style, width, _MOST_ENTRIES, _remedy_lines(listed))
    about = "~" if recording.sampled else ""
    tare = f"tare {about}{human_bytes(peak.tare_bytes or 0)} ({percent(peak.tare_bytes or 0, peak.gross_bytes)})"
    balance = wrapped(
        f"peak {about}{human_bytes(peak.gross_bytes)} gross at {duration(process['peak_time_ns'])} = "
        f"net {about}{human_bytes(peak.net_bytes or 0)} + {tare}",
        width,
    )
    for line in balance:
        yield line.replace(tare, style(tare, "yellow"))
    parts = [f"{lens.lens} {human_bytes(lens.bytes_peak)}" for lens in recording.ledger.tare_totals]
    yield from wrapped(f"tare by lens: {', '.join(parts)}", width)
    yield from wrapped(
        f"in all {about}{blocks_text(total.blocks)}, {about}{human_bytes(total.requested_bytes)} requested; "
        f"at the end {about}{blocks_text(recording.moments['end'].blocks)}, "
        f"{about}{human_bytes(recording.moments['end'].gross_bytes)}",
        width,
    )
    noted = do_first.noted_holders(recording)
    yield from do_first.holder_lines(recording, noted, width)
    missing = not_sought(recording)
    yield from do_first.not_looked_for(missing, width)
    named = [*recording.finding_frames([each.finding for each in listed.first]), *(frame for frame, _ in noted)]
    if note := unnamed_note(named):
        yield from (style(line, "dim") for line in wrapped(note, width))
    yield from _processes(shown, [image for image in images if image is not shown], short or Short(), width)
    is_group = len(images) > 1 or bool(short and short.traces)
    yield from _next_steps(shown.path, listed, missing, width, is_group=is_group)


def _remedy_lines(listed: Ranking) -> int:
    """More of each remedy where there are few entries."""
    return max(1, _MOST_ENTRIES + 1 - len(listed.first))


def _next_steps(
    path: str, listed: Ranking, missing: dict[str, list[str]], width: int, *, is_group: bool
) -> Iterator[str]:
    """Commands that fit the findings, side by side as far as they fit the screen. A group: the program started processes."""
    report = f"tare report {_quoted(path)}"
    if len(report) > width - 6:
        report = f"tare report {shorten_path(path, width - 18)}"
    commands = ["tare explore …", "tare report … --html", "tare sql …"]
    if listed.first:
        commands[:0] = [f"tare report … --lens {','.join(listed.first[0].lenses)}", "tare prove …"]
    if any(way.startswith("tare run --content") for way in missing):
        commands.insert(1, "tare run --content -- …")
    if is_group:
        commands.insert(0, "tare report … --group")
    line = f"next: {report}"
    for command in commands:
        if len(line) + 3 + len(command) <= width:
            line += f"   {command}"
        else:
            yield line
            line = f"      {shorten(command, width - 6)}"
    yield line


def _processes(shown: Image, others: Sequence[Image], short: Short, width: int) -> Iterator[str]:
    """Those with files of their own, and the file with all the rest."""
    size = _file_bytes(shown.path) if shown.earlier_segments else shown.file_bytes
    yield shorten(f"trace: {shorten_path(shown.path, width - 20)} ({human_bytes(size)})", width)
    if shown.earlier_segments and (older := segments.others(shown.path)):
        folder = os.path.dirname(shown.path)
        size = sum(_file_bytes(os.path.join(folder, name)) for name in older)
        names = older[0] if len(older) == 1 else f"{older[0]} to {older[-1]}"
        kept = plural(len(older), "older segment")
        yield shorten(f"{kept} beside it: {shorten_path(names, width - 45)} ({human_bytes(size)})", width)
    alone = [image for image in others if not short.path or not image.path.startswith(short.path + ":")]
    if alone:
        yield f"{len(alone)} more recorded:"
    largest = sorted(alone, key=lambda image: -image.events)[:_OTHERS_SHOWN]
    for image in largest:
        yield shorten(f"  {image.program} (pid {image.pid}), {_events(image.events)}: {image.path}", width)
    if len(alone) > len(largest):
        folder = _quoted(os.path.dirname(shown.path) or ".")
        yield shorten(f"  ({len(alone) - len(largest)} more in {folder})", width)
    if short.path:
        traces = plural(short.traces, "trace of a short process", "traces of short processes")
        yield shorten(f"{traces}: {shorten_path(short.path, width - 48)} ({human_bytes(short.file_bytes)})", width)


def _file_bytes(path: str) -> int:
    """0: deleted meanwhile."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _events(count: int) -> str:
    return f"{human_count(count)} event{'' if count == 1 else 's'}"


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
