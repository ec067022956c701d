"""Findings with the frames that name them, for formats that point at source lines."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.culprits import is_reviewed
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
    frame: Frame  # that names the site
    place: (
        Frame  # the same; or if its source line isn't below the working directory, the innermost caller whose line is
    )
    number: int  # among those of the same lens and function, from 0

    @property
    def bytes(self) -> int:
        """At the peak; for lenses without such bytes at the end, or over the run."""
        return round(self.finding.bytes_peak or self.finding.bytes_end or self.finding.bytes_total or 0)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.finding.lens, self.frame, self.number)

    @property
    def name(self) -> str:
        return self.frame.name if self.place == self.frame else f"{self.frame.name}, called from {self.place.name}"


def reviewed_path(frame: Frame) -> str:
    """Relative to the working directory if the file lies below it, as services of code review require."""
    inside = os.path.relpath(frame.file) if frame.file.startswith("/") else frame.file
    return frame.file if inside.startswith("..") else inside


def fingerprint(rule: str, frame: Frame | None, number: int = 0) -> str:
    """The same for the same rule and function in another build: lines and addresses move. Services show one of several results with the same
    fingerprint, so that `number` tells apart those of one function.
    """
    words = [rule] if frame is None else [rule, frame.mangled or frame.name, frame.file.rpartition("/")[2]]
    words += [str(number)] if number else []
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:32]


def findings(recording: Recording, selection: Selection = ALL) -> list[Found]:
    """Those that the report shows, largest first; of the chosen lenses, at sites that match the filters."""
    every = []
    for lens in recording.ledger.lenses:
        if selection.lenses and lens.name not in selection.lenses:
            continue
        found = recording.findings(lens, by="site_location_id")
        stacks = recording.site_stacks([each.site_id for each in found])
        if selection.filters:
            found = [each for each in found if matches(stacks[each.site_id], selection.filters)]
        numbers: Counter[str] = Counter()
        frames = recording.finding_frames(found)
        for each, frame in sorted(zip(found, frames, strict=True), key=lambda each: each[1].line or 0):
            key = fingerprint(lens.name, frame)
            place = next(filter(is_reviewed, [frame, *stacks[each.site_id]]), frame)
            every.append(Found(lens, each, frame, place, numbers[key]))
            numbers[key] += 1
    return sorted(every, key=lambda each: (-each.bytes, each.lens.name, str(each.frame), each.number))
