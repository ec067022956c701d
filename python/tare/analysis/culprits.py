"""The sites behind a broken limit: those that grew most since the baseline, or without one the largest."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.difference import SiteSums, site_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.budget import Verdict
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MOST_SITES = 3  # of a limit; a smaller one than a tenth of the largest is noise
_LEAST_SHARE = 0.1
_UNITS = {"bytes": "bytes", "blocks": "blocks", "calls": "allocations"}


class Culprit(NamedTuple):
    verdict: Verdict
    frame: Frame
    amount: float  # bytes, blocks or calls of the site
    before: float | None  # in the baseline; None: there is none
    measure: str  # bytes, blocks or allocations

    @property
    def growth(self) -> float:
        return self.amount - (self.before or 0.0)


def culprits(
    verdicts: Sequence[Verdict], recording: Recording, baselines: Sequence[Recording]
) -> list[tuple[Verdict, list[Culprit]]]:
    """Of each broken limit, the largest first."""
    broken = [verdict for verdict in verdicts if not verdict.kept]
    if not broken:
        return []
    now = site_sums(recording)
    old = site_sums(baselines[0]) if baselines else None
    found = []
    for verdict in broken:
        measure, pattern = _measure(verdict.name)
        sites = []
        for key, (stack, sums, _) in now.items():
            if not stack or (pattern and not fnmatchcase(stack[0].function, pattern)):
                continue
            frame = _reviewed_frame(stack)
            before = None
            if old is not None:
                before = float(getattr(old[key][1] if key in old else SiteSums(), measure))
            sites.append(
                Culprit(verdict, frame, float(getattr(sums, measure)), before, _UNITS[measure.rpartition("_")[2]])
            )
        sites = sorted((each for each in sites if each.growth > 0), key=lambda each: -each.growth)[:_MOST_SITES]
        found.append((verdict, [each for each in sites if each.growth >= _LEAST_SHARE * sites[0].growth]))
    return found


def is_reviewed(frame: Frame) -> bool:
    """True for a source line below the working directory, which services of code review can annotate."""
    if not frame.file or not frame.line:
        return False
    return not os.path.relpath(frame.file).startswith("..") and os.path.exists(frame.file)


def _reviewed_frame(stack: Sequence[Frame]) -> Frame:
    """The innermost one that is reviewed; else the innermost with any source line."""
    with_line = (frame for frame in stack if frame.file and frame.line)
    return next(filter(is_reviewed, stack), next(with_line, stack[0]))


def _measure(name: str) -> tuple[str, str]:
    """A field of SiteSums that a limit's figure is a sum of, and the pattern of its function."""
    figure, _, pattern = name.removesuffix(" against the baseline").partition(" of ")
    where, _, what = figure.partition(".")
    if where == "site":
        return what, pattern
    if where == "lens" or what.startswith("tare"):
        return "tare_bytes", ""
    if where == "total":
        return "calls", ""
    if where == "end":
        return "end_gross_bytes", ""
    return ("peak_blocks" if what == "blocks" else "peak_gross_bytes"), ""
