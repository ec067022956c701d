"""Findings with the frames that name them, for formats that point at source lines."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.records import matches
from tare.exports.selection import ALL

if TYPE_CHECKING:
    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
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
        return fingerprint(self.finding.lens, self.frame)

    def path(self) -> str:
        return reviewed_path(self.frame)


def reviewed_path(frame: Frame) -> str:
    """Relative to the working directory if the file lies below it, as services of code review require."""
    inside = os.path.relpath(frame.file) if frame.file.startswith("/") else frame.file
    return frame.file if inside.startswith("..") else inside


def fingerprint(rule: str, frame: Frame | None) -> str:
    """The same for the same rule and function in another build: lines and addresses move."""
    words = [rule] if frame is None else [rule, frame.mangled or frame.name, frame.file.rpartition("/")[2]]
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:32]


def findings(recording: Recording, selection: Selection = ALL) -> list[Found]:
    """Those that the report shows, largest first; of the chosen lenses, at sites that match the filters."""
    every = []
    for lens in recording.ledger.lenses:
        if selection.lenses and lens.name not in selection.lenses:
            continue
        found = recording.findings(lens, by="site_location_id")
        if selection.filters:
            stacks = recording.site_stacks([each.site_id for each in found])
            found = [each for each in found if matches(stacks[each.site_id], selection.filters)]
        every += [Found(lens, *each) for each in zip(found, recording.finding_frames(found), strict=True)]
    return sorted(every, key=lambda each: -each.bytes)
