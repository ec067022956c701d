"""A group of processes as text or JSON: roles, findings and sites added up, and one process in detail."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from tare.analysis.languages import remedy
from tare.naming.brief_names import brief
from tare.reports import account
from tare.reports.do_first import holders
from tare.reports.table import Column, table
from tare.reports.text_parts import headline, unnamed_note, wrapped
from tare.text.terminal import shorten
from tare.text.units import duration, human_bytes, human_count, percent, plural
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.group import FindingSums, Group
    from tare.analysis.recording import Recording
    from tare.text.terminal import Style

DETAIL_REASON = "the process with the largest peak of blocks that it allocated itself"
_MOST_WARNINGS = 8
_LEAST_SHARE = 0.005  # of all peaks or of all time: smaller findings aren't listed


def lines(group: Group, detail: Recording, rows: int | None, style: Style, width: int) -> Iterator[str]:
    """`detail`: the recording of group.largest."""
    events = sum(each.events for each in group.processes)
    head = (
        f"{group.name}: {plural(len(group.processes), 'process', 'processes')} in {plural(len(group.roles), 'role')}, "
        f"{human_count(events)} events in {duration(group.duration_ns)}"
    )
    for line in wrapped(head, width):
        yield style(line, "bold")
    yield from _totals(group, style, width)
    for warning in group.warnings[:_MOST_WARNINGS]:
        for line in wrapped(f"note: {warning}", width):
            yield style(line, "yellow")
    if len(group.warnings) > _MOST_WARNINGS:
        yield style(f"note: ({len(group.warnings) - _MOST_WARNINGS} more; --json has all)", "yellow")
    yield ""
    yield from _roles(group, rows, style, width)
    yield ""
    yield from _findings(group, rows, style, width)
    yield ""
    yield from _sites(group, rows, style, width)
    yield ""
    for line in wrapped(f"in detail: {headline(detail)}; {DETAIL_REASON}", width):
        yield style(line, "bold")
    yield from account.lines(detail, width)
    yield from holders(detail, width)
    if note := unnamed_note([each.frame for each in group.sites[: rows or None]]):
        yield from (style(line, "dim") for line in wrapped(note, width))
    yield from wrapped(f"next: tare report {shlex.quote(group.largest.path)}", width)


def _totals(group: Group, style: Style, width: int) -> Iterator[str]:
    peaks, tare = group.peak_gross_bytes, sum(group.tare_bytes.values())
    examined = sum(each.peak_gross_bytes for each in group.examined)
    text = f"tare {human_bytes(tare)} ({percent(tare, examined)})"
    first, *rest = wrapped(
        f"peaks of all processes together {human_bytes(peaks)} gross, at most {human_bytes(group.at_once_bytes)} of it at one "
        f"time; {text}",
        width,
    )
    yield first.replace(text, style(text, "yellow"))
    yield from rest
    inherited = [each for each in group.processes if each.inherited_bytes]
    if inherited:
        yield from wrapped(
            f"  each block counts once: {human_bytes(sum(each.inherited_bytes for each in inherited))} of blocks that "
            f"{plural(len(inherited), 'process', 'processes')} inherited by fork are left out, because they are the parent's",
            width,
        )
    if len(group.examined) < len(group.processes):
        yield from wrapped(
            f"  sites, findings and tare are of the {len(group.examined)} processes with the largest peaks: "
            f"{percent(examined, peaks)} of all peaks",
            width,
        )


def _roles(group: Group, rows: int | None, style: Style, width: int) -> Iterator[str]:
    columns = [
        Column("processes", keep=True),
        Column("peaks", keep=True),
        Column("share"),
        Column("largest"),
        Column("its pid", keep=True),
        Column("most RSS"),
        Column("events"),
        Column("role", "left", least=20),
    ]
    cells = []
    for each in group.roles[:rows]:
        rss = max(process.peak_rss_bytes for process in each.processes)
        cells.append(
            [
                f"{len(each.processes):,}",
                human_bytes(each.peak_gross_bytes),
                percent(each.peak_gross_bytes, group.peak_gross_bytes, 0),
                human_bytes(each.processes[0].peak_gross_bytes),
                str(each.processes[0].pid),
                human_bytes(rss) if rss else "?",
                human_count(sum(process.events for process in each.processes)),
                str(each.role),
            ]
        )
    head, *rest = table(columns, cells, width)
    yield style(head, "cyan")
    yield from rest
    if len(group.roles) > len(cells):
        yield f"  ({len(group.roles) - len(cells)} more roles)"


def worth_naming(group: Group) -> list[FindingSums]:
    """Those with a gain of note, the largest first."""
    peaks, run_ns = group.peak_gross_bytes, group.run_ns
    return [
        each
        for each in group.findings
        if each.gain_peak_bytes >= _LEAST_SHARE * peaks > 0 or each.gain_cpu_ns >= _LEAST_SHARE * run_ns > 0
    ]


def _findings(group: Group, rows: int | None, style: Style, width: int) -> Iterator[str]:
    of = f"all peaks ({human_bytes(group.peak_gross_bytes)}) and the time of all processes ({duration(group.run_ns)})"
    found = worth_naming(group)
    if not found:
        yield from wrapped(f"do first: no finding gains {100 * _LEAST_SHARE:g}% of {of}", width)
    else:
        first, *rest = wrapped(f"do first: gains of {of}", width)
        yield style("do first", "cyan") + first.removeprefix("do first")
        yield from rest
    for number, each in enumerate(found[:rows], start=1):
        yield from _finding(number, each, group, style, width)
    if rows is not None and len(found) > rows:
        yield f"  ({len(found) - rows} more above {100 * _LEAST_SHARE:g}%)"
    if len(group.findings) > len(found):
        yield f"  ({plural(len(group.findings) - len(found), 'finding')} below {100 * _LEAST_SHARE:g}% of both)"


def _finding(number: int, each: FindingSums, group: Group, style: Style, width: int) -> Iterator[str]:
    gains = []
    if each.gain_peak_bytes >= 1:
        gains.append(f"-{human_bytes(each.gain_peak_bytes)} ({percent(each.gain_peak_bytes, group.peak_gross_bytes)})")
    if each.gain_cpu_ns >= 1:
        gains.append(f"CPU -{duration(each.gain_cpu_ns)} ({percent(each.gain_cpu_ns, group.run_ns)})")
    head = f"{number:>2}. {', '.join(gains) or '-'}  "
    room = max(width - len(head), 1)
    place = f" {each.frame.place}" if each.frame.place else ""
    name = brief(each.frame.name, min(room, max(room - len(place), 12)))
    yield shorten(head, width) + style(name, "bold") + shorten(place, max(room - len(name), 0))
    pid = next(process.pid for process in group.processes if process.path == each.path)
    about = f"in {_of(each.processes, group)}; {', '.join(each.lenses)}; largest in process {pid}:"
    for line in wrap(f"{about} {remedy(each.example.finding, each.frame)}", width - 4)[:3]:
        yield "    " + style(line, "dim")


def _of(processes: int, group: Group) -> str:
    return f"{processes} of {plural(len(group.examined), 'process', 'processes')}"


def _sites(group: Group, rows: int | None, style: Style, width: int) -> Iterator[str]:
    columns = [
        Column("peaks", keep=True),
        Column("share", keep=True),
        Column("processes", keep=True),
        Column("allocations"),
        Column("site", "left", least=20, cut=lambda text, room: brief(text, room)),
    ]
    shown = [each for each in group.sites[:rows] if each.peak_gross_bytes]
    cells = [
        [
            human_bytes(each.peak_gross_bytes),
            percent(each.peak_gross_bytes, group.peak_gross_bytes, 0),
            f"{each.processes:,}",
            human_count(each.blocks),
            f"{each.frame.name} {each.frame.place}".rstrip(),
        ]
        for each in shown
    ]
    head, *rest = table(columns, cells, width)
    yield style(head, "cyan")
    yield from rest
    if len(group.sites) > len(shown):
        yield f"  ({len(group.sites) - len(shown):,} more sites)"


def as_json(group: Group) -> dict[str, Any]:
    """Never truncated."""
    from tare.reports.json_report import frame

    role_of = {process.path: str(each.role) for each in group.roles for process in each.processes}
    tare = sum(group.tare_bytes.values())
    return {
        "group": group.name,
        "duration_ns": group.duration_ns,
        "peak_gross_bytes": round(group.peak_gross_bytes),
        "at_once_gross_bytes": round(group.at_once_bytes),
        "inherited_bytes": round(sum(each.inherited_bytes for each in group.processes)),
        "tare_bytes": round(tare),
        "tare_by_lens": {lens: round(size) for lens, size in group.tare_bytes.items()},
        "examined": {
            "processes": len(group.examined),
            "peak_gross_bytes": round(sum(each.peak_gross_bytes for each in group.examined)),
        },
        "roles": [
            {
                "role": str(each.role),
                "name": each.role.name,
                "origin": each.role.origin,
                "processes": len(each.processes),
                "peak_gross_bytes": round(each.peak_gross_bytes),
                "largest_gross_bytes": round(each.processes[0].peak_gross_bytes),
                "largest_path": each.processes[0].path,
                "most_rss_bytes": max(process.peak_rss_bytes for process in each.processes) or None,
                "events": sum(process.events for process in each.processes),
            }
            for each in group.roles
        ],
        "findings": [
            {
                "lenses": list(each.lenses),
                **frame(each.frame),
                "gain_peak_bytes": round(each.gain_peak_bytes),
                "gain_cpu_ns": round(each.gain_cpu_ns),
                "processes": each.processes,
                "example_path": each.path,
                "example_remedy": remedy(each.example.finding, each.frame),
                "confidence": each.example.finding.confidence,
            }
            for each in group.findings
        ],
        "sites": [
            {
                **frame(each.frame),
                "peak_gross_bytes": round(each.peak_gross_bytes),
                "blocks": round(each.blocks),
                "processes": each.processes,
            }
            for each in group.sites
        ],
        "detail": {"path": group.largest.path, "reason": DETAIL_REASON},
        "processes": [
            {
                "path": each.path,
                "pid": each.pid,
                "parent_pid": each.parent_pid,
                "image": each.image,
                "role": role_of[each.path],
                "program": each.program,
                "command": list(each.words),
                "title": each.title or None,
                "forked": each.is_forked,
                "replaced_by_exec": each.was_replaced,
                "start_realtime_ns": each.start_ns,
                "duration_ns": each.duration_ns,
                "events": each.events,
                "peak_gross_bytes": round(each.peak_gross_bytes),
                "inherited_bytes": round(each.inherited_bytes),
                "peak_rss_bytes": each.peak_rss_bytes or None,
            }
            for each in group.processes
        ],
        "warnings": group.warnings,
    }
