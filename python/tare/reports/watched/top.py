"""A watched process as it is now: its heap with the standard error, and its largest sites, as lines of text and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tare.analysis.watched import LiveSite
from tare.reports.json_report import frame
from tare.reports.table import Column, table
from tare.text.units import human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.live.watched_heap import Heap

ORDERS = ("live", "change")
_LEAST_NAME = 24  # columns of a site's name, before cells are left out


def rows_of(heap: Heap, before: Heap | None, order: str, most: int | None) -> list[tuple[LiveSite, float | None]]:
    """Functions and their changes since the update before, the largest first."""
    now, then = _by_name(heap), _by_name(before) if before else None
    rows: list[tuple[LiveSite, float | None]] = []
    for name, site in now.items():
        was = then.get(name) if then is not None else None
        rows.append((site, site.live_bytes - (was.live_bytes if was else 0.0) if then is not None else None))
    rows.sort(key=lambda row: (-(row[1] or 0.0) if order == "change" else 0.0, -row[0].live_bytes))
    return rows if most is None else rows[:most]


def lines(heap: Heap, before: Heap | None, order: str, most: int | None, width: int) -> Iterator[str]:
    facts = heap.facts
    yield (
        f"{facts.program} (pid {facts.process_id}): {_about(*_total(heap))} gross, "
        f"{plural(facts.live_samples, 'sampled block')}, one standard error each"
    )
    cells = [
        [human_bytes(site.live_bytes), f"± {human_bytes(math.sqrt(site.variance))}", _change(change), _name(site)]
        for site, change in rows_of(heap, before, order, most)
    ]
    heads = [
        Column("live", keep=True),
        Column("", "left"),
        Column("change"),
        Column(f"by {order}", "left", least=_LEAST_NAME),
    ]
    yield from table(heads, cells, width)
    if facts.budget_cpu_share and facts.process_ns:
        share = 100 * facts.recorder_ns / facts.process_ns
        yield (
            f"the recorder took {share:.2f} % of the CPU time; its budget is {100 * facts.budget_cpu_share:.4g} %; one allocation in "
            f"{human_bytes(facts.sample_bytes)} is sampled (first: {human_bytes(facts.first_sample_bytes)})"
        )
    if facts.rests:
        yield "an exact recording is running: blocks that are allocated meanwhile have no stack here"
    if facts.stopped:
        yield f"recording has stopped: {facts.stopped}"


def as_json(heap: Heap, before: Heap | None, order: str, most: int | None) -> dict[str, Any]:
    facts, (live_bytes, error_bytes) = heap.facts, _total(heap)
    return {
        "program": facts.program,
        "pid": facts.process_id,
        "updated_ns": facts.updated_ns,
        "sample_bytes": facts.sample_bytes,
        "live_bytes": round(live_bytes),
        "live_bytes_error": round(error_bytes),
        "stopped": facts.stopped or None,
        "first_sample_bytes": facts.first_sample_bytes or facts.sample_bytes,
        "recorder_ns": facts.recorder_ns,
        "process_ns": facts.process_ns,
        "sites": [
            {
                "live_bytes": round(site.live_bytes),
                "live_bytes_error": round(math.sqrt(site.variance)),
                "change_bytes": None if change is None else round(change),
                "stack": [frame(each) for each in site.stack],
            }
            for site, change in rows_of(heap, before, order, most)
        ],
    }


def _by_name(heap: Heap) -> dict[str, LiveSite]:
    """Sites that differ in their callers are one line; the first one's stack stands for all."""
    found: dict[str, LiveSite] = {}
    for site in heap.sites.values():
        name = _name(site)
        stack, live_bytes, variance = found.get(name, (site.stack, 0.0, 0.0))
        found[name] = LiveSite(stack, live_bytes + site.live_bytes, variance + site.variance)
    return found


def _total(heap: Heap) -> tuple[float, float]:
    """Gross live bytes and their standard error."""
    sites = heap.sites.values()
    return sum(site.live_bytes for site in sites), math.sqrt(sum(site.variance for site in sites))


def _about(live_bytes: float, error: float) -> str:
    return f"{human_bytes(live_bytes)} ± {human_bytes(error)}"


def _change(change: float | None) -> str:
    return "" if change is None else f"{'+' if change > 0 else ''}{human_bytes(change)}"


def _name(site: LiveSite) -> str:
    return str(site.stack[0]) if site.stack else "(unknown)"
