"""A recording that `tare import` has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tare.source.core_source import CoreSource


class Imported:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = CoreSource(str(path))

    @property
    def process(self) -> dict[str, Any]:
        return self.source.process()

    def stacks(self) -> dict[tuple[str, ...], tuple[int, int, int]]:
        """(bytes over the run, at the peak, at the end) by functions from the leaf."""
        from tare.analysis.recording import Recording

        recording = Recording(self.source)
        recording.database.use("site_sizes")
        rows = recording.database.rows(
            "select stack_id, sum(requested_bytes * total_blocks), sum(requested_bytes * peak_blocks),"
            " sum(requested_bytes * end_blocks) from site_sizes group by stack_id"
        )
        recording.names.prepare_stacks([row[0] for row in rows], 64)
        sums: dict[tuple[str, ...], tuple[int, int, int]] = {}
        for stack, *values in rows:
            names = tuple(frame.name for frame in recording.names.stack(stack, 64))
            known = sums.get(names, (0, 0, 0))
            sums[names] = tuple(int(a + b) for a, b in zip(known, values, strict=True))  # type: ignore[assignment]
        return sums
