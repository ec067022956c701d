"""Findings with the frames that name them, for formats that point at source lines."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame


class Found(NamedTuple):
    lens: Lens
    finding: Finding
    frame: Frame

    @property
    def bytes(self) -> int:
        """At the peak; for lenses without such bytes at the end, or over the run."""
        return round(self.finding.bytes_peak or self.finding.bytes_end or self.finding.bytes_total or 0)

    @property
    def fingerprint(self) -> str:
        """The same for the same lens and function in another build: lines and addresses move."""
        file = self.frame.file.rpartition("/")[2]
        words = (self.finding.lens, self.frame.mangled or self.frame.name, file)
        return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:32]

    def path(self) -> str:
        """Relative to the working directory where the file lies below it, as services of code review want it."""
        inside = os.path.relpath(self.frame.file) if self.frame.file.startswith("/") else self.frame.file
        return self.frame.file if inside.startswith("..") else inside


def findings(recording: Recording) -> list[Found]:
    """Those that the report shows, largest first."""
    every = []
    for lens in recording.ledger.lenses:
        found = recording.findings(lens, by="site_row")
        every += [Found(lens, *each) for each in zip(found, recording.finding_frames(found), strict=True)]
    return sorted(every, key=lambda each: -each.bytes)
