"""Parts that the summary of a run and the full report share: the process, its totals, and findings with their remedies."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from tare.analysis.languages import remedy
from tare.analysis.recording import WATCHED
from tare.analysis.sampling_error import peak_error
from tare.naming.brief_names import brief
from tare.reports.generated_code import generated_code
from tare.reports.python_frames import python_frames
from tare.reports.unwind_gaps import unwind_gaps
from tare.reports.watched import memory_kill
from tare.reports.watched.end import watched_end
from tare.schema.missing import FACTS, words_of
from tare.text.signals import signal_name
from tare.text.terminal import shorten, shorten_path
from tare.text.units import duration, exact, human_bytes, human_count, percent, plural
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame
from tare.text.terminal import Style


def headline(recording: Recording) -> str:
    """`python3.11 (pid 4711), glibc, 14.4 M events in 3.20 s`."""
    process = recording.process
    sampled = f", sampled every {sampling_distance(process)}: figures are scaled" if recording.sampled else ""
    if (error := peak_error(recording)) is not None:
        sampled += f", the peak has a standard error of {percent(error, 1)}"
    if process["imported_from"] == WATCHED:
        live = plural(process["events"], "sampled block")
        return f"{recording.title}, {process['allocator']}, watched for {duration(process['duration_ns'])}, {live}{sampled}"
    if process["imported_from"]:
        return f"{recording.title}, imported from {process['imported_from']}{events_and_time(process)}"
    return (
        f"{recording.title}, {process['allocator']}, {human_count(process['events'])} event{'' if process['events'] == 1 else 's'} in "
        f"{duration(process['duration_ns'])}{sampled}"
    )


def sampling_distance(process: Mapping[str, Any]) -> str:
    """`512 KiB`, and the last one if a budget widened it: `512 KiB, at the end 4 MiB`."""
    first, doublings = process["sample_bytes"], process["sample_doublings"] or 0
    return human_bytes(first) + (f", at the end {human_bytes(first << doublings)}" if doublings else "")


_STOPPED = {
    "memory": "the recorder took more memory than the budget allows",
    "disk": "the traces took the disk space of the budget",
    "cpu": "no distance between samples kept the budget's share of CPU time",
}


def stopped_sampling(process: Mapping[str, Any]) -> list[str]:
    if (limit := process["sampling_stopped_by"]) is None:
        return []
    after = duration(process["sampling_stopped_ns"])
    return [f"{_STOPPED[limit]}: sampling stopped after {after}, and blocks allocated later aren't in the figures"]


def events_and_time(process: Mapping[str, Any]) -> str:
    """`, 14.4 M events in 3.20 s`; empty where an imported file has sums only."""
    if process["events"] is None:
        return ""
    lasted = "" if process["duration_ns"] is None else f" in {duration(process['duration_ns'])}"
    return f", {human_count(process['events'])} event{'' if process['events'] == 1 else 's'}{lasted}"


def caveats(recording: Recording) -> list[str]:
    """Limits of the figures; mostly none."""
    process = recording.process
    lines = list(recording.source.warnings)
    lines.extend(f"the file has no {FACTS[word]}" for word in words_of(process["missing_facts"]))
    lines.extend(watched_end(recording))
    status = process["wait_status"]
    if killed := memory_kill.recorded_end(recording):
        lines.append(killed)
    elif status is not None and os.WIFSIGNALED(status):
        lines.append(
            f"the program was killed by signal {signal_name(os.WTERMSIG(status))}; all events until then are recorded"
        )
    if process["replaced_by_exec"]:
        lines.append("the process executed another program; that program has its own trace")
    if process["launcher_died"]:
        lines.append("tare run was killed; events after the spool was full aren't recorded")
    lines.extend(stopped_sampling(process))
    if process["paused_ns"] is not None:
        ended = process["pre_existing_frees"]
        since = f" ({human_count(ended)} of them were freed later)" if ended else ""
        lines.append(
            f"the recorder was paused for {duration(process['paused_ns'])}: blocks allocated meanwhile aren't in the figures{since}"
        )
    if process["events"] == 0:
        lines.append(
            "no allocation was recorded: the program has none, or uses a malloc that the recorder can't replace (its own, valgrind's)"
        )
    if process["contents_recorded"]:
        lines.append(
            "contents were recorded: blocks were filled, so the program used more pages and more time than without"
        )
    if recording.snapshot:
        lines.append(recording.snapshot.sentence)
    if process["impossible_events"]:
        lines.append(
            f"{plural(process['impossible_events'], 'event contradicts', 'events contradict')} others: "
            + _cause_of_contradictions(recording)
        )
    if process["dropped_events"]:
        lines.append(
            f"{plural(process['dropped_events'], 'event was', 'events were')} dropped: all sizes after the first one are too low"
        )
    if process["truncated_stacks"]:
        lines.append(
            f"{plural(process['truncated_stacks'], 'stack was', 'stacks were')} cut at the greatest recorded depth"
        )
    if process["unwind_failures"]:
        lines.append(f"{plural(process['unwind_failures'], 'stack')} couldn't be followed to the outermost function")
    if process["folded_stacks"]:
        lines.append(
            f"{plural(process['folded_stacks'], 'event has', 'events have')} only a part of the stack, "
            "because there are too many distinct stacks and sizes; sums are exact"
        )
    if process["rounded_sizes"]:
        lines.append(
            f"{plural(process['rounded_sizes'], 'event has its', 'events have their')} size rounded up, "
            f"by {human_bytes(process['rounding_bytes'])} in all"
        )
    lines.extend(unwind_gaps(recording))
    lines.extend(generated_code(recording))
    lines.extend(python_frames(process["python"]))
    if process["inherited_blocks"]:
        whence = "live when this segment began" if (process["segment"] or 0) > 1 else "inherited from the parent"
        lines.append(
            f"{plural(process['inherited_blocks'], 'block')}, {human_bytes(process['inherited_usable_bytes'])}, "
            f"{whence}: they count as live, but not in totals over the run"
        )
    if process["segment"] is not None:
        lines.extend(segment_lines(recording))
    return lines


def _cause_of_contradictions(recording: Recording) -> str:
    if recording.process["dropped_events"]:
        return "consequences of the dropped events"
    recording.database.use("site_sizes")
    (of_libc,) = recording.database.row("select count(*) from site_sizes where api not like 'foreign %'")
    if not of_libc:  # Chromium's malloc, for example, has functions of other names beside malloc and free
        return "the program's own malloc has functions that Tare doesn't see"
    return "a bug in Tare"


def segment_lines(recording: Recording) -> list[str]:
    """The number of this segment, the sums of earlier ones, and the files of the others."""
    from tare.analysis.segments import others

    process = recording.process
    lines = []
    if process["segment"] > 1:
        events = sum(process[f"before_{kind}_events"] for kind in ("alloc", "free", "realloc"))
        lines.append(
            f"segment {process['segment']} of a recording: {duration(process['before_ns'])}, {human_count(events)} events, "
            f"{human_count(process['before_blocks'])} blocks of {human_bytes(process['before_requested_bytes'])} and a peak of "
            f"{human_bytes(process['before_peak_gross_bytes'])} came before it"
        )
    if names := others(recording.path):
        shown = names if len(names) <= 3 else [names[0], "...", names[-1]]
        lines.append(f"other segments: {', '.join(shown)}")
    return lines


_NAMELESS = {
    "replaced": "has another build id than when it was recorded; restore the old file, or record again",
    "missing": "doesn't exist here; restore it, or name the root of its container by TARE_SYMBOLS",
    "stripped": "is stripped; install its debug symbols, or build it with -g",
    "damaged": "can't be read as a program or library",
}
_MOST_NAMELESS = 3


def nameless_files(recording: Recording) -> list[str]:
    """Files without names of functions, and the remedy."""
    found = recording.source.nameless_modules()
    lines = [f"no names for functions in {path}: it {_NAMELESS[why]}" for path, why in found[:_MOST_NAMELESS]]
    if len(found) > len(lines):
        lines.append(f"nor for those in {plural(len(found) - len(lines), 'other file')}")
    return lines


def unnamed_note(frames: Iterable[Frame], stated: Collection[str] = ()) -> str:
    """The remedy for sites such as `php8.2+0x38a785`; empty if there are none. Exported functions of such files have names.

    `stated` are files for which the report has the note of `nameless_files`.
    """
    unnamed = dict.fromkeys(each.module for each in frames if not each.function and each.module)
    modules = [path for path in unnamed if path not in stated]
    if not modules:
        return ""
    files = ", ".join(path.rpartition("/")[2] for path in modules[:_MOST_NAMELESS])
    more = f" and {len(modules) - _MOST_NAMELESS} more files" if len(modules) > _MOST_NAMELESS else ""
    if not any(os.path.exists(path) for path in modules):
        are = "isn't" if len(modules) == 1 else "aren't"
        return f"note: {files}{more} {are} in this file system, so some sites are file+offset; name the root of the container by TARE_SYMBOLS"
    have = "has" if len(modules) == 1 else "have"
    return f"note: {files}{more} {have} only exported names, so some sites are file+offset; install debug symbols, or build with -g"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Never wider than `width`; continued lines stand a little to the right."""
    return wrap(text, width, initial_indent=indent, subsequent_indent=f"{indent}  ") or [""]


_WIDE_BALANCE = 66  # 12 for the label and twice 18 + 9


def balance(recording: Recording, style: Style, width: int) -> list[str]:
    """gross = net + tare, proved line by line, at the peak and at the end; to the byte where there is room."""
    peak, end = recording.moments["peak"], recording.moments["end"]
    about = "~" if recording.sampled else ""
    wide = width >= _WIDE_BALANCE
    amount_of, label_width, cell, share = (exact, 12, 18, 9) if wide else (human_bytes, 11, 9, 5)
    peak_ns = recording.process["peak_time_ns"]
    at_peak, at_end = "at the peak" if peak_ns is None else f"at the peak ({duration(peak_ns)})", "at the end"
    if not wide:
        at_peak, at_end = "peak", "end"
    lines = [f"{'bytes' if wide else '':<{label_width}}{at_peak:>{cell + share}}{at_end:>{cell + share}}"]

    def row(label: str, at_peak: float, at_end: float, look: str = "") -> None:
        cells = f"{label:<{label_width}}"
        for value, moment in ((at_peak, peak), (at_end, end)):
            cells += (
                f"{about + amount_of(value):>{cell}}{percent(value, moment.gross_bytes, 1 if wide else 0):>{share}}"
            )
        lines.append(style(cells, look) if look else cells)

    row("gross", peak.gross_bytes, end.gross_bytes)
    for totals in recording.ledger.tare_totals:
        row(f"  {totals.lens}", totals.bytes_peak, totals.bytes_end)
    if recording.has_tare:
        row("- tare", peak.tare_bytes or 0.0, end.tare_bytes or 0.0, "yellow")
        row("= net", peak.net_bytes or 0.0, end.net_bytes or 0.0, "bold")
    else:
        unknown = "".join(f"{'?':>{cell}}{'':>{share}}" for _ in range(2))
        lines += [f"{label:<{label_width}}{unknown}".rstrip() for label in ("- tare", "= net")]
    total = recording.moments["total"]
    count_of = exact if wide else human_count
    lines.append(
        f"{'blocks':<{label_width}}{about + count_of(peak.blocks):>{cell}}{'':>{share}}{about + count_of(end.blocks):>{cell}}"
    )
    # Events are counted as recorded: the number that a sample's events stand for is unknown.
    count = None if recording.sampled else recording.process["realloc_events"]
    reallocs = "" if count is None else f", {human_count(count)} reallocs"
    usable = "" if total.usable_bytes is None else f", {about}{human_bytes(total.usable_bytes)} usable"
    lines += wrapped(
        f"in all: {about}{blocks_text(total.blocks)}, {about}{human_bytes(total.requested_bytes)} requested{usable}{reallocs}",
        width,
    )
    return lines


_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60
_LEAST_BARS = 8


def course(recording: Recording, width: int) -> list[str]:
    """Gross over the run, a bar for the maximum of each interval: growth, plateaus and waves."""
    recording.database.use("timeline")
    rows = recording.database.rows("select time_ns, max_gross_bytes from timeline order by time_ns")
    if recording.process["duration_ns"] is None:  # imported sums
        return []
    ended = f"0 to {duration(recording.process['duration_ns'])}"
    count = min(width - len("over time   ") - len(ended) - 2, _MOST_BARS)
    if len(rows) < 2 or count < _LEAST_BARS or not (top := max(gross for _, gross in rows)):
        return []
    heights = [0.0] * count
    for time_ns, gross in rows:
        cell = min(int(time_ns * count / max(rows[-1][0], recording.process["duration_ns"], 1)), count - 1)
        heights[cell] = max(heights[cell], gross)
    last = 0.0
    for cell, height in enumerate(heights):  # nothing happened: as before
        heights[cell] = last = height or last
    bars = "".join(_BARS[max(math.ceil(height / top * len(_BARS)) - 1, 0)] for height in heights)
    return [f"over time   {bars}  {ended}"]


def blocks_text(count: float) -> str:
    """`1 block`, `16.4 k blocks`."""
    return f"{human_count(count)} block{'' if round(count) == 1 else 's'}"


def amount(finding: Finding, lens: Lens) -> str:
    """The lens's amount in its unit: bytes at the peak, bytes copied, calls, or bytes at the end."""
    if finding.amount:
        return finding.amount
    if lens.unit == "copied":
        copied = finding.bytes_total or 0
        return f"{human_bytes(copied)} copied" if copied else f"{human_count(finding.calls)} steps"
    if lens.unit == "calls":
        return f"{human_count(finding.calls)} calls"
    if lens.unit == "pairs":
        saved = finding.bytes_peak or 0
        return human_bytes(saved) if saved >= 4096 else f"{human_count(finding.calls)} pairs"
    if lens.unit == "kept":
        return human_bytes(max(finding.bytes_peak or 0, finding.bytes_end or 0))
    if lens.unit == "end":
        return human_bytes(finding.bytes_end or 0)
    return human_bytes(finding.bytes_peak or 0)


_NARROW = 64  # columns below which a remedy needs the whole line
_LEAST_NAME = 12


def finding_lines(
    finding: Finding, lens: Lens, named: Frame, style: Style, width: int, remedy_lines: int | None
) -> list[str]:
    """One or more lines: amount, place and remedy."""
    head = f"  {amount(finding, lens):>15}  "
    mark = f" [{finding.mark}]" if finding.mark else ""
    stacks = f" ({finding.sites} stacks)" if finding.sites > 1 else ""
    indent, text = len(head), remedy(finding, named)
    if width < _NARROW:
        indent, text = 4, f"{mark}{stacks} {text}".strip()
        mark = stacks = ""
    room = width - len(head) - len(mark) - len(stacks)
    place = f" {named.place}" if named.place else ""
    name_room = max(room - len(place), min(len(named.name), _LEAST_NAME))
    name, place = brief(named.name, name_room), shorten(place, room - name_room)
    lines = [head + style(name, "bold") + place + style(mark, "yellow") + stacks]
    room = width - indent - 2
    wrapped_text = wrap(text, room)
    if remedy_lines is not None and len(wrapped_text) > remedy_lines:
        wrapped_text = wrapped_text[:remedy_lines]
        wrapped_text[-1] = wrapped_text[-1][: room - 2].rstrip(" ,;:") + " …"
    return [*lines, *(" " * indent + style(line, "dim") for line in wrapped_text)]


def stack_lines(stack: Sequence[Frame], width: int) -> Iterator[str]:
    """A frame a line, as DMD prints them."""
    for number, frame in enumerate(stack, start=1):
        place = f" ({shorten_path(frame.file, max(width // 2, 20))}:{frame.line})" if frame.file and frame.line else ""
        if not place and (frame.function or frame.address is not None) and frame.module:
            place = f" [{frame.module.rpartition('/')[2]}]"
        yield shorten(f"    #{number:02}: {brief(frame.name, max(width - 9 - len(place), 12))}{place}", width)
