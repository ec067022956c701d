"""One reading of a running recording, as lines of text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.analysis.languages import remedy
from tare.live.live_figures import MOST_SITES, ORDERS, Found
from tare.reports.json_report import finding as finding_json
from tare.reports.table import Column, table
from tare.reports.text_parts import amount, finding_lines, wrapped
from tare.text.units import duration, human_bytes, human_count, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tare.live.live_figures import Figures, Site
    from tare.text.terminal import Style

# The figures beside a site's name: heading, and value.
CELLS: tuple[tuple[str, Callable[[Site], str]], ...] = (
    ("live", lambda site: human_bytes(site.gross_bytes)),
    ("change", lambda site: f"{'+' if site.gross_change > 0 else ''}{human_bytes(site.gross_change)}"),
    ("blocks", lambda site: human_count(site.blocks)),
    ("slop", lambda site: human_bytes(site.slop_bytes)),
    ("calls/s", lambda site: human_count(site.calls_per_s)),
)
_LEAST_NAME = 24  # columns of a site's name, before cells are left out


def head(figures: Figures, width: int) -> list[str]:
    """The process, its live blocks, and their rate of change."""
    process = figures.process
    about = "~" if process["sample_bytes"] else ""
    slop = process["end_usable_bytes"] - process["end_requested_bytes"]
    since = "in all" if figures.since_ns == process["duration_ns"] else f"in the last {duration(figures.since_ns)}"
    lines = [
        f"{figures.title}, {process['allocator']}, {human_count(process['events'])} events in {duration(process['duration_ns'])}",
        f"live: {about}{human_bytes(process['end_gross_bytes'])} gross in {about}{human_count(process['end_blocks'])} blocks, "
        f"slop {about}{human_bytes(slop)} ({percent(slop, process['end_gross_bytes'])}); "
        f"peak {about}{human_bytes(process['peak_gross_bytes'])} at {duration(process['peak_time_ns'])}",
        f"{since}: {human_count(figures.allocations_per_s)} allocations/s, {human_count(figures.frees_per_s)} frees/s, "
        f"{about}{human_bytes(figures.bytes_per_s)}/s requested",
    ]
    return [part for line in [*lines, *figures.warnings] for part in wrapped(line, width)]


def sorted_sites(figures: Figures, order: str, most: int | None) -> list[Site]:
    """The heaviest in that order first."""
    return sorted(figures.sites, key=ORDERS[order], reverse=True)[
        : MOST_SITES if most is None else min(most, MOST_SITES)
    ]


def lines(figures: Figures, order: str, most: int | None, style: Style, width: int) -> Iterator[str]:
    first, *rest = head(figures, width)
    yield style(first, "bold")
    yield from rest
    heads = [*(Column(heading, keep=number == 0) for number, (heading, _) in enumerate(CELLS))]
    rows = [[*(cell(site) for _, cell in CELLS), str(site.frame)] for site in sorted_sites(figures, order, most)]
    first, *rest = table([*heads, Column(f"by {order}", "left", least=_LEAST_NAME)], rows, width)
    yield style(first, "dim")
    yield from rest
    if figures.found:
        yield style("findings so far", "dim")
    for found in figures.found:
        potential = "" if found.lens.weight == "tare" else " (potential)"
        yield style(found.lens.name, "cyan") + potential
        yield from finding_lines(found.finding, found.lens, found.frame, style, width, 1)


def details(row: Site | Found) -> Iterator[str]:
    """All of one row: of a site its figures, of a finding its lens and the whole remedy."""
    yield str(row.frame)
    yield ""
    if isinstance(row, Found):
        yield f"{row.lens.name}: {amount(row.finding, row.lens)}, confidence {row.finding.confidence}"
        yield ""
        yield f"What to do: {remedy(row.finding, row.frame)}"
        yield ""
        yield f"Question: {row.lens.question}"
        yield f"Why: {row.lens.why}"
        yield f"May be wrong: {row.lens.false_positives}"
    else:
        yield from (f"{heading + ':':<9} {cell(row)}" for heading, cell in CELLS)
        if row.frame.file:
            yield f"{'file:':<9} {row.frame.file}:{row.frame.line}"


def as_json(figures: Figures, order: str, most: int | None) -> dict[str, Any]:
    process = figures.process

    def sums(moment: str) -> dict[str, int]:
        figures = {name: round(process[f"{moment}_{name}"]) for name in _SUMS}
        return {**figures, "slop_bytes": figures["usable_bytes"] - figures["requested_bytes"]}

    return {
        "program": process["program"],
        "pid": process["pid"],
        "allocator": process["allocator"],
        "duration_ns": process["duration_ns"],
        "events": process["events"],
        "since_ns": figures.since_ns,
        "allocations_per_second": figures.allocations_per_s,
        "frees_per_second": figures.frees_per_s,
        "requested_bytes_per_second": figures.bytes_per_s,
        "live": sums("end"),
        "peak": {**sums("peak"), "time_ns": process["peak_time_ns"]},
        "sites": [
            {
                "function": site.frame.function or None,
                "file": site.frame.file or None,
                "line": site.frame.line,
                "blocks": round(site.blocks),
                "gross_bytes": round(site.gross_bytes),
                "gross_change": round(site.gross_change),
                "slop_bytes": round(site.slop_bytes),
                "calls": round(site.calls),
                "calls_per_second": site.calls_per_s,
            }
            for site in sorted_sites(figures, order, most)
        ],
        "findings": [finding_json(found.finding, found.frame, [found.frame]) for found in figures.found],
        "launcher_cpu_ns": figures.launcher_cpu_ns,
        "warnings": figures.warnings,
    }


_SUMS = ("blocks", "requested_bytes", "usable_bytes", "gross_bytes")
