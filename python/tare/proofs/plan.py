"""The findings of a recording with their simulations, in the order in which `tare prove` numbers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.proofs.remedies import Rule, Simulation, Unsimulated
from tare.proofs.simulations import simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame

# Blocks of a pool are no requests to the allocator.
_REQUESTS = "z.api not in ('pool block', 'pool memory') and z.inherited = 0 and z.total_blocks > 0"


class Planned(NamedTuple):
    number: int  # from 1
    finding: Finding
    frame: Frame
    simulation: Simulation | Unsimulated

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.simulation.rules if isinstance(self.simulation, Simulation) else ()


def plan(recording: Recording) -> list[Planned]:
    """Every finding that the lenses show, largest at the peak first; then those with most calls."""
    found = [(lens, each) for lens in recording.ledger.lenses for each in recording.findings(lens, by="site_row")]
    found.sort(key=lambda pair: (-(pair[1].bytes_peak or 0), -pair[1].calls))
    frames = recording.finding_frames([finding for _, finding in found])
    return [
        Planned(number, finding, frame, simulate(lens.name, _shapes(recording, lens, finding)))
        for number, ((lens, finding), frame) in enumerate(zip(found, frames, strict=True), 1)
    ]


def _shapes(recording: Recording, lens: Lens, finding: Finding) -> list[dict[str, Any]]:
    """The shapes at the finding's line; with the claim, where the lens claims shapes and not stacks."""
    if finding.site_row is None:
        rows = "t.site_row is null"
    else:
        alike = recording.alike(lens)
        same = [finding.site_row, *(row for row, other in alike.items() if other == finding.site_row)]
        rows = f"t.site_row in ({', '.join(map(str, same))})"
    claims = f"claims_{lens.name.replace('-', '_')}"
    database = recording.database
    at_line = (
        f"from site_sizes z join stack_sites s on s.stack_id = z.stack_id join sites t on t.site_id = s.site_id"
        f" where {_REQUESTS} and {rows}"
    )
    sizes = "z.shape_id, z.stack_id, z.align_bytes, z.requested_bytes, z.usable_bytes, z.header_bytes, z.total_blocks, z.peak_blocks, z.end_blocks"
    shapes = database.records(f"select {sizes} {at_line}")
    claimed = {row["shape_id"]: row for row in database.records(f"select * from {claims} where shape_id is not null")}
    if not claimed:
        return shapes
    return [claimed[each["shape_id"]] | each for each in shapes if each["shape_id"] in claimed]


def together(planned: Sequence[Planned]) -> list[tuple[Rule, int]]:
    """Rules of all, each with the number of its finding: a shape has the rule of the first finding that is about it."""
    chosen: dict[int, tuple[Rule, int]] = {}
    for each in planned:
        for rule in each.rules:
            chosen.setdefault(rule.shape_id, (rule, each.number))
    return list(chosen.values())
