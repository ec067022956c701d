"""Reads a recording while it goes on: live blocks now, events since the reading before, and findings so far."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tare import lenses
from tare.analysis.recording import Recording
from tare.errors import CANNOT_RECORD, TareError
from tare.live import launcher_requests
from tare.naming.names import UNKNOWN, Frame
from tare.source.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare import _core
    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Source
    from tare.explore.explorer import Explorer
    from tare.lenses.lens import Lens
    from tare.source.core_source import CoreSource
    from tare.source.database import TableSource, TableStore

# Tables that replay has at any time; others need another walk over the trace, or a snapshot.
TABLES = frozenset(
    ("process", "site_sizes", "size_classes", "growth", "timeline", "recreated", "written", "call_costs", "mappings")
) | frozenset(("failed_requests", "sites", "stack_sites", "stacks", "locations", "modules", "unwind_gaps"))
# Figures take the launcher 0.4 us a shape: 2 ms of a small program, 100 of a compiler. It spends no more than this
# share of a processor on them, however short the interval is.
_LAUNCHERS_SHARE = 0.02
_OWN_SHARE = 0.5  # where the trace has to be replayed for each reading
_LATEST = 1 << 62  # ns


MOST_SITES = 40  # of each order: names of a compiler's 3,000 lines take seconds to find


class Site(NamedTuple):
    """One line that names sites."""

    row: int | None
    blocks: float  # live, as are the bytes
    gross_bytes: float
    slop_bytes: float
    calls: float  # allocations since the recording began
    calls_per_s: float  # since the reading before
    gross_change: float
    frame: Frame = UNKNOWN


# name of an order -> key by which sites are sorted, descending
ORDERS: dict[str, Callable[[Site], float]] = {
    "live": lambda site: site.gross_bytes,
    "change": lambda site: site.gross_change,
    "rate": lambda site: site.calls_per_s,
    "slop": lambda site: site.slop_bytes,
    "blocks": lambda site: site.blocks,
}


class Found(NamedTuple):
    lens: Lens
    finding: Finding
    frame: Frame


class Figures(NamedTuple):
    process: dict[str, Any]  # the one row of table `process`: its end is now
    title: str
    warnings: list[str]
    since_ns: int  # since the reading before; in the first one since the recording began
    allocations_per_s: float  # a realloc is one, and a free
    frees_per_s: float
    bytes_per_s: float  # requested
    sites: list[Site]  # the first of each order, in none
    found: list[Found]  # each lens' best, in the order of the lenses
    source: Source  # its tables, until the next reading replaces them
    rest_s: float  # to be waited before the next reading, so that reading stays cheap
    launcher_cpu_ns: int | None  # its cost of these tables; null: it only returned the place of the trace


class Judge:
    """Reads figures from tables, one after the other: rates are those since the one before."""

    def __init__(self) -> None:
        self._before: tuple[tuple[int, int], dict[str, Any], dict[int | None, tuple[float, float]]] | None = None

    def read(self, source: Source) -> Figures:
        by_line = source.by_line()
        recording = Recording(by_line, _lenses_of(source.process()), _engine(by_line))
        process = recording.process
        who = (process["pid"], process["image_index"])
        earlier: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
        sites_before: dict[int | None, tuple[float, float]] = {}
        if self._before is not None and self._before[0] == who:
            _, earlier, sites_before = self._before
        since_ns = process["duration_ns"] - earlier["duration_ns"]
        per_s = 1e9 / since_ns if since_ns > 0 else 0.0

        def rate(count: Callable[[dict[str, Any]], float]) -> float:
            return per_s * (count(process) - count(earlier))

        sites = []
        for row, blocks, gross, slop, calls in _site_rows(recording):
            calls_before, gross_before = sites_before.get(row, (0.0, 0.0))
            sites.append(Site(row, blocks, gross, slop, calls, per_s * (calls - calls_before), gross - gross_before))
        self._before = (who, process, {site.row: (site.calls, site.gross_bytes) for site in sites})
        return Figures(
            process=process,
            title=recording.title,
            warnings=[] if "still being recorded" in "".join(source.warnings) else list(source.warnings),
            since_ns=since_ns,
            allocations_per_s=rate(lambda at: at["total_blocks"]),
            frees_per_s=rate(lambda at: at["total_blocks"] + at["inherited_blocks"] - at["end_blocks"]),
            bytes_per_s=rate(lambda at: at["total_requested_bytes"]),
            sites=_named(sites, recording),
            found=_found(recording),
            source=source,
            rest_s=0.0,
            launcher_cpu_ns=None,
        )


class FiguresReader:
    """Reads one process, or the one of a launcher's with most events."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._recorded, self._whom = launcher_requests.find_launched(pid)
        self._figures: _core.Recording | None = None
        self._judge = Judge()
        self._has_ended = False

    def read(self) -> Figures:
        """CannotRecord if there is nothing to read (any more)."""
        begin = time.process_time()
        try:
            answer = launcher_requests.ask(self._recorded, "figures", self._whom)
        except launcher_requests.RecordingOverError:
            self._has_ended = True
            raise
        kind, _, rest = answer.partition(" ")
        cost_ns = None
        if kind == "tables":
            name, cost = rest.split(" ")
            cost_ns = int(cost)
            source = self._source(os.path.join(self._recorded.directory, name))
        else:
            source = _source_of_trace(rest)
        figures = self._judge.read(source)
        if cost_ns is None:
            return figures._replace(rest_s=(time.process_time() - begin) / _OWN_SHARE)
        return figures._replace(rest_s=cost_ns / 1e9 / _LAUNCHERS_SHARE, launcher_cpu_ns=cost_ns)

    def is_over(self) -> bool:
        """True if the process has ended: then a refused reading isn't a failure."""
        return self._has_ended or launcher_requests.is_over(self.pid)

    def _source(self, path: str) -> CoreSource:
        from tare import _core
        from tare.source.core_source import CoreSource

        if self._figures is None:
            self._figures = _core.of_tables(path)
        else:
            self._figures.renew(path)
        return CoreSource(path, depth=1, recording=self._figures)


_COUNTS = ("duration_ns", "total_blocks", "inherited_blocks", "end_blocks", "total_requested_bytes")


def explorable(figures: Figures) -> Explorer:
    """Its tables for the tree of stacks and the timeline. They have no lives of blocks."""
    from tare.explore.explorer import Explorer

    return Explorer(Recording(figures.source, _lenses_of(figures.process)), has_lives=False)


def _named(sites: list[Site], recording: Recording) -> list[Site]:
    """Those that an order may show."""
    active = [site for site in sites if site.blocks or site.calls_per_s or site.gross_change]
    chosen = {
        site.row: site for order in ORDERS.values() for site in sorted(active, key=order, reverse=True)[:MOST_SITES]
    }
    recording.names.prepare(row for row in chosen if row is not None)
    return [site._replace(frame=recording.names.at(row)) for row, site in chosen.items()]


def _source_of_trace(path: str) -> CoreSource:
    """The launcher keeps no figures of this one (`-q`, a forked child): its trace is replayed. A time bypasses the cache,
    because the trace still grows.
    """
    from tare.source.core_source import CoreSource

    return CoreSource(path, at_ns=_LATEST, depth=1)


def _lenses_of(process: dict[str, Any]) -> list[str]:
    runnable = lenses.load_runnable(lenses.NAMES, process)
    return [
        lens.name
        for lens in runnable
        if lens.needs != "snapshots" and TABLES.issuperset(lens.tables) and lens.name not in lenses.ON_REQUEST
    ]


def _engine(source: Source) -> Callable[[TableSource], TableStore]:
    from tare.source.small_database import MOST_ROWS, SmallDatabase

    try:
        import sqlite3  # noqa: F401  (Python may lack it)
    except ImportError:
        return Database
    return SmallDatabase if source.count("site_sizes") <= MOST_ROWS else Database


def _site_rows(recording: Recording) -> list[tuple[int | None, float, float, float, float]]:
    """(row, live blocks, gross and slop of them, allocations so far) a line."""
    recording.database.use("site_sizes", "sites", "stack_sites")
    return recording.database.rows(
        "select t.site_location_id, sum(s.end_blocks), sum((s.usable_bytes + s.header_bytes) * s.end_blocks),"
        " sum((s.usable_bytes - s.requested_bytes) * s.end_blocks), sum(s.total_blocks)"
        " from site_sizes s join stack_sites x on x.stack_id = s.stack_id join sites t on t.site_id = x.site_id"
        " group by t.site_location_id"
    )


def _found(recording: Recording) -> list[Found]:
    best = []
    for lens in recording.ledger.lenses:
        best += [
            (lens, finding)
            for finding in recording.ledger.findings(lens, by="site_location_id", limit=1)
            if finding.shown
        ]
    frames = recording.finding_frames([finding for _, finding in best])
    return [Found(lens, finding, frame) for (lens, finding), frame in zip(best, frames, strict=True)]


def ended(reader: FiguresReader, error: TareError) -> bool:
    """True if a reading was refused because the program is over."""
    return error.kind == CANNOT_RECORD and reader.is_over()
