"""One look at a running recording, as lines of text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.live_looks import MOST_SITES, ORDERS
from tare.reports.json_report import finding as finding_json
from tare.reports.text_parts import finding_lines, wrapped
from tare.terminal import shorten
from tare.units import duration, human_bytes, human_count, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tare.live_looks import Look, Site
    from tare.terminal import Style

# What a site's line shows beside its name: heading, and its figure.
CELLS: tuple[tuple[str, Callable[[Site], str]], ...] = (
    ("live", lambda site: human_bytes(site.gross_bytes)),
    ("change", lambda site: f"{'+' if site.gross_change > 0 else ''}{human_bytes(site.gross_change)}"),
    ("blocks", lambda site: human_count(site.blocks)),
    ("slop", lambda site: human_bytes(site.slop_bytes)),
    ("calls/s", lambda site: human_count(site.calls_per_s)),
)
_CELL = 11
_LEAST_NAME = 24  # columns of a site's name, before cells are left out


def head(look: Look, width: int) -> list[str]:
    """Who it is, what lives, and at which rate it changes."""
    process = look.process
    about = "~" if process["sample_bytes"] else ""
    slop = process["end_usable_bytes"] - process["end_requested_bytes"]
    since = "in all" if look.since_ns == process["duration_ns"] else f"in the last {duration(look.since_ns)}"
    lines = [
        f"{look.title}, {process['allocator']}, {human_count(process['events'])} events in {duration(process['duration_ns'])}",
        f"live: {about}{human_bytes(process['end_gross_bytes'])} gross in {about}{human_count(process['end_blocks'])} blocks, "
        f"slop {about}{human_bytes(slop)} ({percent(slop, process['end_gross_bytes'])}); "
        f"peak {about}{human_bytes(process['peak_gross_bytes'])} at {duration(process['peak_time_ns'])}",
        f"{since}: {human_count(look.allocations_per_s)} allocations/s, {human_count(look.frees_per_s)} frees/s, "
        f"{about}{human_bytes(look.bytes_per_s)}/s requested",
    ]
    return [part for line in [*lines, *look.warnings] for part in wrapped(line, width)]


def sorted_sites(look: Look, order: str, most: int) -> list[Site]:
    """The heaviest in that order first."""
    return sorted(look.sites, key=ORDERS[order], reverse=True)[: min(most, MOST_SITES)]


def lines(look: Look, order: str, most: int, style: Style, width: int) -> Iterator[str]:
    first, *rest = head(look, width)
    yield style(first, "bold")
    yield from rest
    cells = CELLS[: max(1, (width - _LEAST_NAME) // _CELL)]
    room = width - _CELL * len(cells) - 2
    yield style("".join(f"{heading:>{_CELL}}" for heading, _ in cells) + f"  by {order}", "dim")
    for site in sorted_sites(look, order, most):
        yield "".join(f"{cell(site):>{_CELL}}" for _, cell in cells) + "  " + shorten(str(site.frame), room)
    if look.found:
        yield style("findings so far", "dim")
    for found in look.found:
        potential = "" if found.lens.weight == "tare" else " (potential)"
        yield style(found.lens.name, "cyan") + potential
        yield from finding_lines(found.finding, found.lens, found.frame, style, width, 1)


def as_json(look: Look, order: str, most: int) -> dict[str, Any]:
    process = look.process

    def sums(moment: str) -> dict[str, int]:
        figures = {name: round(process[f"{moment}_{name}"]) for name in _SUMS}
        return {**figures, "slop_bytes": figures["usable_bytes"] - figures["requested_bytes"]}

    return {
        "program": process["program"],
        "pid": process["pid"],
        "allocator": process["allocator"],
        "duration_ns": process["duration_ns"],
        "events": process["events"],
        "since_ns": look.since_ns,
        "allocations_per_second": look.allocations_per_s,
        "frees_per_second": look.frees_per_s,
        "requested_bytes_per_second": look.bytes_per_s,
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
            for site in sorted_sites(look, order, most)
        ],
        "findings": [finding_json(found.finding, found.frame, [found.frame]) for found in look.found],
        "launcher_cpu_ns": look.launcher_cpu_ns,
        "warnings": look.warnings,
    }


_SUMS = ("blocks", "requested_bytes", "usable_bytes", "gross_bytes")
