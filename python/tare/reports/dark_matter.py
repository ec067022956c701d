"""Dark matter as text and as JSON: bugs first, then unclaimed blocks, then claimed ones, in DMD's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.analysis.dark_matter import NONE, ONCE, TWICE
from tare.reports.text_parts import caveats, headline, nameless_files, stack_lines, wrapped
from tare.text.terminal import shorten
from tare.text.units import human_bytes, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.dark_matter import Amount, Group, Matter, Section
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame
    from tare.text.terminal import Style

_TITLES = {TWICE: "Twice-reported", NONE: "Unreported", ONCE: "Once-reported"}
# An owner that adds up requests instead of block sizes is wrong by this much: below, the error is insignificant.
_LEAST_UNDERSTATED = 0.05


def report(recording: Recording, matter: Matter, style: Style, width: int) -> Iterator[str]:
    for line in wrapped(headline(recording), width):
        yield style(line, "bold")
    yield shorten(f"command: {' '.join(recording.process['command_line'].split())}", width)
    for note in [*caveats(recording), *nameless_files(recording), *notes(matter)]:
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    yield ""
    for section in matter.sections:
        yield from _section(section, matter, style, width)
    yield from summary(matter, style, width)


def notes(matter: Matter) -> list[str]:
    found = []
    if not matter.paths:
        found.append(
            "the program reported nothing until this time, so the whole heap is unreported (tare/reporter.h has the calls)"
        )
    if matter.unknown:
        found.append(
            f"{plural(matter.unknown, 'report')} with addresses at which no live block begins: inside a block, or freed "
            'before; `tare sql FILE "select * from reports where block_id is null"` lists them'
        )
    found += [
        f"{zombie.path} isn't reported any more, but {plural(zombie.amount.blocks, 'block')} of it "
        f"{'is' if round(zombie.amount.blocks) == 1 else 'are'} still live: {human_bytes(zombie.amount.usable_bytes)}"
        for zombie in matter.zombies
    ]
    return found


def _section(section: Section, matter: Matter, style: Style, width: int) -> Iterator[str]:
    title = _TITLES[section.name]
    look = "red" if section.name == TWICE else "cyan"
    if not section.matching:
        yield style(f"{title}: none", "dim" if section.name == TWICE else look)
        yield ""
        return
    running = 0.0
    for number, group in enumerate(section.groups, start=1):
        running += group.amount.gross_bytes
        yield style(f"{title} {{", look)
        yield from _record(group, number, section, matter, running, width)
        yield "}"
        yield ""
    if section.matching > len(section.groups):
        yield f"({section.matching - len(section.groups):,} more)"
        yield ""


def _record(group: Group, number: int, section: Section, matter: Matter, running: float, width: int) -> Iterator[str]:
    amount = group.amount
    of_pool = " of a pool" if group.pool else ""
    yield f"  {plural(amount.blocks, 'block')}{of_pool} in record {number:,} of {section.matching:,}"
    yield from wrapped(
        f"{human_bytes(amount.usable_bytes)} ({human_bytes(amount.requested_bytes)} requested / {human_bytes(amount.slop_bytes)} slop)",
        width,
        "  ",
    )
    share, so_far, here = (
        percent(part, whole, 2)
        for part, whole in (
            (amount.gross_bytes, matter.total.gross_bytes),
            (running, section.amount.gross_bytes),
            (amount.gross_bytes, section.amount.gross_bytes),
        )
    )
    yield from wrapped(f"{share} of the heap; {here} of {section.name} ({so_far} cumulative)", width, "  ")
    if group.formerly is not None:
        yield from wrapped(f"An earlier round reported it as {group.formerly}", width, "  ")
    yield from _stack("Allocated at", "", group.stack, width)
    if group.path is not None:
        yield from _stack("Reported at", group.path, group.report_stack, width)
    if group.second_path is not None:
        yield from _stack("Reported again at", group.second_path, group.second_stack, width)


def _stack(title: str, path: str, stack: list[Frame], width: int) -> Iterator[str]:
    named = f" as {path}" if path else ""
    if not stack:
        yield from wrapped(f"{title.removesuffix(' at')}{named} (no stack was recorded)", width, "  ")
        return
    yield from wrapped(f"{title.removesuffix(' at')}{named} at {{", width, "  ")
    yield from stack_lines(stack, width)
    yield "  }"


def summary(matter: Matter, style: Style, width: int) -> Iterator[str]:
    yield style("Summary {", "cyan")
    yield from wrapped(f"The heap {matter.when}", width, "  ")
    wide = width >= 66
    yield _row("total", matter.total, matter, wide)
    for section in matter.sections:
        row = _row(section.name, section.amount, matter, wide)
        yield style(row, "red") if section.name == TWICE and section.matching else row
    understated = [
        path
        for path in matter.paths
        if path.amount.slop_bytes >= _LEAST_UNDERSTATED * max(path.amount.requested_bytes, 1)
    ]
    for path in understated:
        factor = path.amount.usable_bytes / max(path.amount.requested_bytes, 1)
        yield from wrapped(
            f"{path.path}: its blocks use {human_bytes(path.amount.usable_bytes)}, {factor:.2f} times the requested "
            f"{human_bytes(path.amount.requested_bytes)}; a reporter that sums requested sizes reports too little",
            width,
            "  ",
        )
    for belief in matter.beliefs:
        if abs(belief.factor - 1) < _LEAST_UNDERSTATED:
            continue
        apart = "" if belief.factor == float("inf") else f", {belief.factor:.2f} times that"
        line = (
            f"{belief.path}: reports {human_bytes(belief.reported_bytes)}, but its {plural(belief.blocks, 'block')} used "
            f"{human_bytes(belief.usable_bytes)}{apart}"
        )
        for part in wrapped(line, width, "  "):
            yield style(part, "yellow")
    yield "}"


def _row(name: str, amount: Amount, matter: Matter, wide: bool) -> str:
    size = f"{human_bytes(amount.gross_bytes):>10}"
    blocks = f" in {plural(amount.blocks, 'block')}" if wide else ""
    return f"  {name + ':':<15}{size} ({percent(amount.gross_bytes, matter.total.gross_bytes, 2)}){blocks}"


def _amount(amount: Amount) -> dict[str, int]:
    return {name: round(value) for name, value in amount._asdict().items()}


def as_json(recording: Recording, matter: Matter) -> dict[str, Any]:
    from tare.reports.json_report import frame

    process = recording.process
    return {
        "program": process["program"],
        "pid": process["pid"],
        "allocator": process["allocator"],
        "warnings": [*recording.source.warnings, *nameless_files(recording)],
        "time_ns": process["duration_ns"] if matter.at_ns is None else matter.at_ns,
        "total": _amount(matter.total),
        "unknown_reports": matter.unknown,
        "sections": [
            {
                "section": section.name,
                **_amount(section.amount),
                "records": [
                    {
                        **_amount(group.amount),
                        "pool": bool(group.pool),
                        "path": group.path,
                        "second_path": group.second_path,
                        "formerly": group.formerly,
                        "stack": [frame(f) for f in group.stack],
                        "report_stack": [frame(f) for f in group.report_stack],
                        "second_stack": [frame(f) for f in group.second_stack],
                    }
                    for group in section.groups
                ],
            }
            for section in matter.sections
        ],
        "paths": [{"path": path.path, **_amount(path.amount)} for path in matter.paths],
        "zombies": [{"path": zombie.path, **_amount(zombie.amount)} for zombie in matter.zombies],
        "amounts": [belief._asdict() for belief in matter.beliefs],
    }
