"""Dark matter: live blocks at one time by their reports, and blocks without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.errors import USAGE, TareError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

# By their number of reports that stand: bugs first.
TWICE, NONE, ONCE = "twice-reported", "unreported", "once-reported"
SECTIONS = (TWICE, NONE, ONCE)

_IN_SECTION = {TWICE: "reports > 1", NONE: "reports = 0", ONCE: "reports = 1"}


class Amount(NamedTuple):
    """Blocks and their bytes."""

    blocks: float
    requested_bytes: float
    usable_bytes: float
    gross_bytes: float

    @property
    def slop_bytes(self) -> float:
        return self.usable_bytes - self.requested_bytes


class Group(NamedTuple):
    """Blocks of one site with the same reports."""

    amount: Amount
    path: str | None
    second_path: str | None
    formerly: str | None
    pool: bool  # handed out by a pool, or held by one
    stack: list[Frame]
    report_stack: list[Frame]  # empty: not recorded
    second_stack: list[Frame]


class Section(NamedTuple):
    name: str
    amount: Amount
    groups: list[Group]  # largest first; cut to the limit
    matching: int


class Path(NamedTuple):
    """All blocks of which a path's report is the first."""

    path: str
    amount: Amount


class Zombie(NamedTuple):
    """Live blocks that are no longer reported."""

    path: str
    amount: Amount


class Belief(NamedTuple):
    """The program's last figure for the blocks under a path, and their real bytes then."""

    path: str
    reported_bytes: int
    blocks: int
    requested_bytes: int
    usable_bytes: int

    @property
    def factor(self) -> float:
        """The ratio of reported to real bytes; 1 if both are 0."""
        if not self.reported_bytes:
            return float("inf") if self.usable_bytes else 1.0
        return self.usable_bytes / self.reported_bytes


class Moment(NamedTuple):
    time_ns: int | None  # since the start; null: the end
    reports: int | None  # exactly after so many of them
    when: str  # in words


class Matter(NamedTuple):
    """The heap at a moment, divided."""

    at_ns: int | None
    when: str
    total: Amount
    sections: list[Section]
    paths: list[Path]  # largest first
    zombies: list[Zombie]
    beliefs: list[Belief]  # by path
    unknown: int  # reports of addresses at which no live block begins

    def section(self, name: str) -> Section:
        return next(section for section in self.sections if section.name == name)


def moment(recording: Recording, at: str | None) -> Moment:
    """By default it is the time of the program's last reports: they describe the heap then. Without reports, the peak: all of
    it is dark.
    """
    from tare.analysis.records import parse_time
    from tare.text.units import duration

    if recording.process["imported_from"]:
        raise TareError(USAGE, "an imported recording has no reports of the program: record it with tare run")
    if at == "end":
        return Moment(None, None, "at the end")
    if at == "peak":
        peak: int = recording.process["peak_time_ns"]
        return Moment(peak, None, f"at the peak ({duration(peak)})")
    if at is not None:
        return Moment(parse_time(at), None, f"at {at}")
    database = recording.database
    database.use("reports")
    reports, last = database.row("select count(*), max(time_ns) from reports")
    if not reports:
        return moment(recording, "peak")
    return Moment(last, reports, f"when the program last reported ({duration(last)})")


_SUMS = (
    "coalesce(sum(blocks), 0), coalesce(sum(requested_bytes * blocks), 0), coalesce(sum(usable_bytes * blocks), 0),"
    " coalesce(sum((usable_bytes + header_bytes) * blocks), 0)"
)


# Without reports nothing is to be matched with blocks, and the peak is exact; by its time it's so to a quarter of a
# millisecond, which is how often events of a single thread are stamped.
_ALL_DARK_AT_THE_PEAK = """
select stack_id, case when api like 'pool %' then api else 'malloc' end, requested_bytes, usable_bytes, header_bytes, weight,
       peak_blocks, 0, null, null, null, null, null
from site_sizes where peak_blocks > 0
"""


def divide(recording: Recording, at: str | None, limit: int | None, filters: Sequence[str] = ()) -> Matter:
    snapshot = moment(recording, at)
    database = recording.database
    database.forget("claimed")
    database.use("stack_sites", "sites", "reports")
    if at in (None, "peak") and not database.row("select count(*) from reports")[0]:
        database.use("site_sizes")
        database.make("claimed", _ALL_DARK_AT_THE_PEAK)
    else:
        recording.source.claim_at(None if snapshot.reports else snapshot.time_ns, snapshot.reports)
        database.use("claimed")
    total = Amount(*database.row(f"select {_SUMS} from claimed"))
    paths = [
        Path(path if path is not None else "(path lost)", Amount(*sums))
        for path, *sums in database.rows(
            f"select path, {_SUMS} from claimed where reports > 0 group by path order by 5 desc, path"
        )
    ]
    zombies = [
        Zombie(path, Amount(*sums))
        for path, *sums in database.rows(
            f"select formerly, {_SUMS} from claimed where formerly is not null group by formerly order by 5 desc, formerly"
        )
    ]
    (unknown,) = database.row(
        "select count(*) from reports where block_id is null and pool_block_id is null"
        + ("" if snapshot.time_ns is None else f" and time_ns <= {snapshot.time_ns}")
    )
    sections = [_section(recording, name, limit, filters) for name in SECTIONS]
    beliefs = [] if recording.sampled else _beliefs(recording, snapshot.time_ns)
    return Matter(
        snapshot.time_ns, snapshot.when, total, sections, paths, zombies, beliefs, 0 if recording.sampled else unknown
    )


def _beliefs(recording: Recording, until_ns: int | None) -> list[Belief]:
    """The last of each path. By its time a round's amounts come after the last of its reports: half a millisecond is given."""
    from tare.types.collected_types import is_report_of_types

    recording.database.use("amounts")
    until = "" if until_ns is None else f"where time_ns <= {until_ns + 500_000}"
    rows = recording.database.rows(
        "select path, reported_bytes, blocks, requested_bytes, usable_bytes from"
        f" (select *, row_number() over (partition by path order by time_ns desc, round desc) as back from amounts {until})"
        " where back = 1 and path is not null order by path"
    )
    return [Belief(*row) for row in rows if not is_report_of_types(row[0])]


def _section(recording: Recording, name: str, limit: int | None, filters: Sequence[str]) -> Section:
    from tare.analysis.records import matches

    database = recording.database
    where = _IN_SECTION[name]
    amount = Amount(*database.row(f"select {_SUMS} from claimed where {where}"))
    rows = database.rows(
        f"""
        select {_SUMS}, path, second_path, formerly, kind <> 'malloc' as pool, site_id,
               min(report_stack_id), min(second_report_stack_id)
        from claimed c join stack_sites s on s.stack_id = c.stack_id
        where {where}
        group by path, second_path, formerly, kind <> 'malloc', site_id
        order by 3 desc, site_id, pool, path, second_path, formerly
        """
    )
    if filters:
        stacks = recording.site_stacks(sorted({row[8] for row in rows}))
        rows = [row for row in rows if matches(stacks[row[8]], filters)]
    shown = rows if limit is None else rows[:limit]
    stacks = recording.site_stacks(sorted({row[8] for row in shown}))
    depth = recording.source.depth
    recording.names.prepare_stacks((stack for row in shown for stack in row[9:11] if stack is not None), depth)

    def frames(stack_id: int | None) -> list[Frame]:
        if stack_id is None:
            return []
        found = recording.names.stack(stack_id, depth)
        return found[1:] if found[0].function.startswith("tare_report") else found  # inlined: reporter.h's own

    groups = [
        Group(Amount(*row[:4]), row[4], row[5], row[6], row[7], stacks[row[8]], frames(row[9]), frames(row[10]))
        for row in shown
    ]
    return Section(name, amount, groups, len(rows))
