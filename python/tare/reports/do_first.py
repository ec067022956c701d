"""The list at the beginning of a report: findings of all lenses in order of worth."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tare.analysis.callers import callers
from tare.analysis.languages import remedy
from tare.analysis.worth import LEAST_SHARE, Entry, Ranking
from tare.naming.brief_names import brief
from tare.reports.text_parts import wrapped
from tare.text.terminal import shorten
from tare.text.units import duration, human_bytes, percent, plural
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.callers import Caller
    from tare.analysis.recording import Recording
    from tare.analysis.worth import Whole
    from tare.naming.names import Frame
    from tare.text.terminal import Style

_LEAST_NAME = 12
_ALL = 0.995  # a share that reads as 100 %
_LEAST_CPU_SHARE = 0.001  # of the run, for a gain beside one of RSS


def lines(
    recording: Recording,
    ranking: Ranking,
    style: Style,
    width: int,
    most: int,
    remedy_lines: int | None = None,
) -> Iterator[str]:
    """At most so many entries, with so many lines of each remedy and the largest caller beside the name; None: all lines, and all
    callers."""
    whole = ranking.whole
    least = f"{100 * LEAST_SHARE:g}%"
    of = [f"the {'peak RSS' if whole.is_rss else 'gross peak'} ({human_bytes(whole.peak_bytes)})"]
    if whole.run_ns:
        of.append(f"the run's time ({duration(whole.run_ns)})")
    if not ranking.first:
        yield from wrapped(f"do first: no finding gains {least} of {' or of '.join(of)}", width)
    else:
        first, *rest = wrapped(f"do first: gains of {' and of '.join(of)}", width)
        yield style("do first", "cyan") + first.removeprefix("do first")
        yield from rest
    shown = ranking.first[:most]
    frames = recording.finding_frames([entry.finding for entry in shown])
    called_by = callers(recording, shown)
    for number, (entry, frame, by) in enumerate(zip(shown, frames, called_by, strict=True), start=1):
        yield from _entry(number, entry, whole, frame, by, remedy_lines, style, width)
    if len(ranking.first) > len(shown):
        yield f"  ({len(ranking.first) - len(shown)} more above {least})"
    if ranking.rest:
        counts = Counter(entry.lenses[0] for entry in ranking.rest)
        named = ", ".join(f"{name} {count}" for name, count in counts.most_common())
        below = f"{plural(len(ranking.rest), 'finding')} below {least} of both: {named}{_untouched(ranking)}"
        yield from wrapped(f"  ({below})", width)


def _untouched(ranking: Ranking) -> str:
    """The reason why a finding of many bytes is below: the program never touched them."""
    sums: Counter[str] = Counter()
    for entry in ranking.rest:
        sums[entry.finding.lens] += round(entry.finding.saving.untouched_bytes)
    least = LEAST_SHARE * ranking.whole.peak_bytes
    parts = [f"{human_bytes(size)} of {name}" for name, size in sums.most_common() if size >= max(least, 1)]
    return f"; pages of {' and '.join(parts)} were never touched and return no RSS" if parts else ""


def gains(entry: Entry, whole: Whole) -> str:
    """`RSS -6.4%, CPU -1.5%`: those of at least LEAST_SHARE, and the larger one in any case."""
    peak, cpu = whole.shares(entry.worth)
    parts = []
    if peak >= LEAST_SHARE or peak > cpu:
        parts.append(f"{'RSS' if whole.is_rss else 'peak'} {_minus(entry)}{percent(peak, 1)}")
    if cpu >= LEAST_SHARE or cpu >= peak:
        parts.append(f"CPU {'≥' if entry.worth.cpu_at_least else '-'}{percent(cpu, 1)}")
    return ", ".join(parts)


def amounts(entry: Entry, whole: Whole) -> str:
    """`3.66 MiB (exact), about 2.1 ms`."""
    worth, parts = entry.worth, []
    if worth.gain_peak_bytes and worth.gain_peak_bytes >= 1:
        how = (
            "at most" if worth.is_bound else "at least" if worth.peak_at_least else "" if worth.peak_exact else "about"
        )
        error = (
            "" if worth.is_bound or not entry.finding.samples else f" +-{percent(entry.finding.samples**-0.5, 1, 0)}"
        )
        exact = " (exact)" if worth.peak_exact else " (all that was resident of the blocks)" if worth.is_bound else ""
        parts.append(f"{how} {human_bytes(worth.gain_peak_bytes)}{error}{exact}".strip())
    if worth.gain_cpu_ns and (whole.shares(worth)[1] >= _LEAST_CPU_SHARE or not parts):
        parts.append(f"{'at least' if worth.cpu_at_least else 'about'} {duration(worth.gain_cpu_ns)}")
    return ", ".join(parts)


def _minus(entry: Entry) -> str:
    return "≤" if entry.worth.is_bound else "≥" if entry.worth.peak_at_least else "-"


def _entry(
    number: int,
    entry: Entry,
    whole: Whole,
    frame: Frame,
    called_by: Sequence[Caller],
    remedy_lines: int | None,
    style: Style,
    width: int,
) -> Iterator[str]:
    head = f"{number:>2}. {gains(entry, whole)}  "
    room = max(width - len(head), 1)
    place = f" {frame.place}" if frame.place else ""
    name = brief(frame.name, min(room, max(room - len(place), _LEAST_NAME)))
    line = shorten(head, width) + style(name, "bold") + shorten(place, max(room - len(name), 0))
    if remedy_lines is not None and called_by:
        line += style(_from(called_by[0], room - len(name) - len(place)), "dim")
    yield line
    if remedy_lines is None and called_by:
        by = ", ".join(f"{_named(caller.frame)} {percent(caller.share, 1, 0)}" for caller in called_by)
        yield from (style(line, "dim") for line in wrapped(f"called by {by}", width, "    "))
    confidence = f"confidence {entry.finding.confidence}"
    parts = (amounts(entry, whole), ", ".join(entry.lenses), entry.finding.mark, entry.worth.effort, confidence)
    about = "; ".join(part for part in parts if part)
    text = wrap(remedy(entry.finding, frame), width - 4)
    shown = text[:remedy_lines]
    if len(text) > len(shown):
        shown[-1] = shown[-1][: width - 6].rstrip(" ,;:") + " …"
    for line in [*wrap(about, width - 4), *shown]:
        yield "    " + style(line, "dim")


def _from(caller: Caller, room: int) -> str:
    """Empty if the caller doesn't fit."""
    share = "" if caller.share > _ALL else f" {percent(caller.share, 1, 0)}"
    text = f" from {_named(caller.frame)}{share}"
    return text if len(text) <= room else ""


def not_looked_for(found: dict[str, list[str]], width: int) -> Iterator[str]:
    """The reason why a kind of waste isn't mentioned."""
    if found:
        parts = "; ".join(f"{', '.join(names)} ({way})" for way, names in found.items())
        yield from wrapped(f"not looked for: {parts}", width)


def holders(recording: Recording, width: int) -> Iterator[str]:
    """As holder_lines(), for callers that don't need the frames."""
    yield from holder_lines(recording, noted_holders(recording), width)


def noted_holders(recording: Recording) -> list[tuple[Frame, float]]:
    """Sites with the largest shares of the peak, with or without a finding, and their bytes."""
    from tare.analysis.holders import largest_holders

    least = _LEAST_HOLDER * recording.moments["peak"].gross_bytes
    return [(frame, held) for frame, held in largest_holders(recording) if held >= least]


def holder_lines(recording: Recording, noted: list[tuple[Frame, float]], width: int) -> Iterator[str]:
    """The largest at the peak, and the largest mappings where these are a part of note."""
    from tare.analysis.holders import largest_mappings

    if noted:
        gross = recording.moments["peak"].gross_bytes
        parts = ", ".join(f"{_named(frame)} {percent(held, gross, 0)}" for frame, held in noted)
        yield from wrapped(f"largest at the peak: {parts}", width)
    known = recording.account
    if known and known.mapped_bytes >= _LEAST_MAPPED * known.peak_rss_bytes:
        mapped = largest_mappings(recording)
        if mapped:
            parts = ", ".join(f"{_named(frame)} {human_bytes(size)}" for frame, size in mapped)
            yield from wrapped(f"largest own mappings, resident: {parts}", width)


_MOST_NAME = 40
_LEAST_HOLDER = 0.01
_LEAST_MAPPED = 0.1  # of the peak RSS


def _named(frame: Frame) -> str:
    room = max(_MOST_NAME - len(frame.place) - 1, _MOST_NAME // 2)
    return f"{brief(frame.name, room)} {frame.place}".strip()
