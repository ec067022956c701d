"""The findings of a recording with their simulations and predictions, in the order in which `tare prove` numbers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.proofs.remedies import Rule, Simulation, Unsimulated
from tare.proofs.simulations import Question, Shape, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.analysis.worth import Worth
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame

# Blocks of a pool are no requests to the allocator.
_REQUESTS = "z.api not in ('pool block', 'pool memory') and z.inherited = 0 and z.total_blocks > 0"
_GROWING_ROWS = """
select distinct t.site_location_id from growth g join stack_sites s on s.stack_id = g.stack_id join sites t on t.site_id = s.site_id
where t.site_location_id is not null
"""
_SIZES = "z.size_id, z.align_bytes, z.requested_bytes, z.end_blocks"


class Gain(NamedTuple):
    """Predicted. None: unknown."""

    peak_bytes: float | None
    cpu_ns: float | None
    peak_at_least: bool = False  # a lower bound
    cpu_at_least: bool = False


class Planned(NamedTuple):
    number: int  # from 1
    finding: Finding
    frame: Frame
    worth: Worth  # the prediction
    simulation: Simulation | Unsimulated

    @property
    def gain(self) -> Gain:
        return Gain(
            self.worth.gain_peak_bytes, self.worth.gain_cpu_ns, self.worth.peak_at_least, self.worth.cpu_at_least
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.simulation.rules if isinstance(self.simulation, Simulation) else ()


def plan(recording: Recording) -> list[Planned]:
    """Every finding that the lenses show: the entries of the list by worth in its order, then other findings of their sites, by
    worth."""
    from tare.analysis.worth import ranking, whole_of, worth_of

    whole = whole_of(recording)
    found = [
        (lens, each) for lens in recording.ledger.lenses for each in recording.findings(lens, by="site_location_id")
    ]
    ranked = ranking(recording, found)
    place = {id(entry.finding): number for number, entry in enumerate((*ranked.first, *ranked.rest))}
    judged = [(lens, finding, worth_of(recording, finding, whole, "site_location_id")) for lens, finding in found]
    judged.sort(key=lambda each: (place.get(id(each[1]), len(place)), -whole.score(each[2])))
    frames = recording.finding_frames([finding for _, finding, _ in judged])
    return [
        Planned(number, finding, frame, worth, simulate(lens.name, _question(recording, lens, finding)))
        for number, ((lens, finding, worth), frame) in enumerate(zip(judged, frames, strict=True), 1)
    ]


def _question(recording: Recording, lens: Lens, finding: Finding) -> Question:
    rows: list[int] = []
    at_line = "t.site_location_id is null"
    if finding.site_location_id is not None:
        rows = _rows_of(recording, lens, finding.site_location_id)
        at_line = f"t.site_location_id in ({', '.join(map(str, rows))})"
    return Question(recording.database, _shapes(recording, lens, at_line), rows, finding.partner_row)


def _rows_of(recording: Recording, lens: Lens, row: int) -> list[int]:
    """Those that a change at the finding's line changes. Copies of an inlined function are below the threshold of *growth* where they run
    once a buffer, but the remedy is in the function."""
    rows = {row, *(alike for alike, other in recording.alike(lens).items() if other == row)}
    if lens.name == "growth":
        claimed = {other for (other,) in recording.database.rows(_GROWING_ROWS)}
        recording.names.prepare(claimed)
        line = recording.names.at(row)
        if line.function:
            rows |= {other for other in claimed if recording.names.at(other).reads == line.reads}
    return [row, *sorted(rows - {row})]


def _shapes(recording: Recording, lens: Lens, at_line: str) -> list[Shape]:
    """Those that the lens claims at the line; all of the line where it claims stacks."""
    database = recording.database
    located = "join stack_sites s on s.stack_id = c.stack_id join sites t on t.site_id = s.site_id"
    claims = f"claims_{lens.name.replace('-', '_')}"
    claimed: dict[int, dict[str, Any]] = {
        row["size_id"]: row
        for row in database.records(f"select c.* from {claims} c {located} where c.size_id is not null and {at_line}")
    }
    if claimed:
        listed = ", ".join(map(str, claimed))
        rows = database.rows(f"select {_SIZES} from site_sizes z where {_REQUESTS} and z.size_id in ({listed})")
        return [Shape(shape, align, size, ends, claimed[shape]) for shape, align, size, ends in rows]
    rows = database.rows(
        f"select {_SIZES} from site_sizes z {located.replace('c.stack_id', 'z.stack_id')} where {_REQUESTS} and {at_line}"
    )
    return [Shape(shape, align, size, ends, {}) for shape, align, size, ends in rows]


def worth_together(recording: Recording, planned: Sequence[Planned]) -> Gain:
    """The prediction for all of them, by the causes of the list by worth."""
    from tare import lenses
    from tare.analysis.worth import causes, whole_of

    found = [(lenses.load(each.finding.lens), each.finding, each.worth) for each in planned]
    entries = causes(recording, whole_of(recording), found)
    return Gain(
        _sum_of([entry.worth.gain_peak_bytes for entry in entries]),
        _sum_of([entry.worth.gain_cpu_ns for entry in entries]),
        _is_mostly([(entry.worth.gain_peak_bytes, entry.worth.peak_at_least) for entry in entries]),
        _is_mostly([(entry.worth.gain_cpu_ns, entry.worth.cpu_at_least) for entry in entries]),
    )


def _is_mostly(gains: Sequence[tuple[float | None, bool]]) -> bool:
    """True if half of the sum or more are lower bounds: a small bound beside a large estimate makes no bound of their sum."""
    bounds = sum(gain or 0.0 for gain, at_least in gains if at_least)
    return bounds > 0 and 2 * bounds >= sum(gain or 0.0 for gain, _ in gains)


def _sum_of(gains: Sequence[float | None]) -> float | None:
    known = [gain for gain in gains if gain is not None]
    return sum(known) if known else None


def together(planned: Sequence[Planned]) -> list[tuple[Rule, int]]:
    """Rules of all, each with the number of its finding: a shape has the rule of the first finding that is about it."""
    chosen: dict[int, tuple[Rule, int]] = {}
    for each in planned:
        for rule in each.rules:
            chosen.setdefault(rule.size_id, (rule, each.number))
    return list(chosen.values())
