"""The snapshot that stands for the peak, and how much of the peak it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.lenses.used_snapshots import NEAREST
from tare.text.units import duration, human_bytes, percent

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

# With less of the peak, amounts of lenses that read blocks are lower bounds.
ENOUGH_SEEN = 0.8


class PeakSnapshot(NamedTuple):
    kind: str  # peak or exit
    time_ns: int
    gross_bytes: float  # of the blocks that the peak has, too
    peak_gross_bytes: float
    peak_time_ns: int

    @property
    def share(self) -> float:
        """Of the peak's gross bytes; above 1 where the exit stands for the peak of a part of the process."""
        return self.gross_bytes / self.peak_gross_bytes if self.peak_gross_bytes else 1.0

    @property
    def is_enough(self) -> bool:
        return self.share >= ENOUGH_SEEN

    @property
    def words(self) -> str:
        where = "the exit" if self.kind == "exit" else "a snapshot"
        return f"{where} with {percent(self.gross_bytes, self.peak_gross_bytes)} of the peak"

    @property
    def sentence(self) -> str:
        apart = f"{duration(abs(self.time_ns - self.peak_time_ns))} {'before' if self.time_ns < self.peak_time_ns else 'after'} the peak"
        where = "the exit" if self.kind == "exit" else "a snapshot"
        unknown = (
            ""
            if self.is_enough
            else f"; their amounts are lower bounds, because contents of {human_bytes(self.peak_gross_bytes - self.gross_bytes)} at the peak are unknown"
        )
        return (
            f"lenses read the blocks at {where} {apart}, with {percent(self.gross_bytes, self.peak_gross_bytes)} of its gross "
            f"({human_bytes(self.gross_bytes)} of {human_bytes(self.peak_gross_bytes)}){unknown}"
        )


def peak_snapshot(recording: Recording) -> PeakSnapshot | None:
    """None: no snapshot near the peak or at the exit."""
    process = recording.process
    if not process["snapshots"]:
        return None
    recording.database.use("snapshots", "snapshot_sizes", "site_sizes")
    taken = recording.database.rows(
        f"with {NEAREST} select s.kind, s.time_ns, n.bytes from nearest n join snapshots s on s.snapshot = n.snapshot"
    )
    if not taken:
        return None
    ((kind, time_ns, gross),) = taken
    return PeakSnapshot(kind, time_ns, gross, process["peak_gross_bytes"] or 0, process["peak_time_ns"] or 0)
