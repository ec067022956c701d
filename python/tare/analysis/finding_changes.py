"""Findings of two recordings side by side: those that came, those that went, and those whose amounts changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.worth import is_worth_acting_on, whole_of, worth_of

if TYPE_CHECKING:
    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.analysis.worth import Whole, Worth
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame


class Found(NamedTuple):
    """A finding of one line, with its worth."""

    lens: Lens
    finding: Finding
    frame: Frame
    worth: Worth
    score: float  # the order of worth: the sum of its shares of the peak and of the run's time


class FindingChange(NamedTuple):
    before: Found | None
    after: Found | None

    @property
    def kind(self) -> str:
        if self.before is None:
            return "new"
        if self.after is None:
            return "gone"
        return "same" if _amounts(self.before) == _amounts(self.after) else "changed"

    @property
    def shown(self) -> Found:
        found = self.after or self.before
        assert found is not None
        return found


def in_order_of_worth(recording: Recording) -> tuple[Whole, list[Found]]:
    """Findings by line that a report without options may show. `recording` is folded by line."""
    whole = whole_of(recording)
    found = [
        (lens, finding, worth_of(recording, finding, whole, "site_location_id"))
        for lens in recording.ledger.lenses
        for finding in recording.findings(lens, by="site_location_id")
        if is_worth_acting_on(finding, lens)
    ]
    found.sort(key=lambda each: -whole.score(each[2]))
    frames = recording.finding_frames([finding for _, finding, _ in found])
    return whole, [
        Found(lens, finding, frame, worth, whole.score(worth))
        for (lens, finding, worth), frame in zip(found, frames, strict=True)
    ]


def between(before: Recording, after: Recording) -> list[FindingChange]:
    """All findings of both, those that came first, then those that went, then the others, each in order of worth. The same lens in the
    same function is the same finding: lines move between builds.
    """
    _, old = in_order_of_worth(before.by_line)
    _, new = in_order_of_worth(after.by_line)
    return paired(old, new)


def paired(old: list[Found], new: list[Found]) -> list[FindingChange]:
    waiting: dict[tuple[str, str], list[Found]] = {}
    for each in reversed(old):
        waiting.setdefault(_key(each), []).append(each)
    changes = []
    for each in new:
        same = waiting.get(_key(each))
        changes.append(FindingChange(same.pop() if same else None, each))
    left = {id(each) for same in waiting.values() for each in same}
    changes += [FindingChange(each, None) for each in old if id(each) in left]
    order = ("new", "gone", "changed", "same")
    return sorted(changes, key=lambda change: (order.index(change.kind), -change.shown.score))


def _key(found: Found) -> tuple[str, str]:
    frame = found.frame
    return found.lens.name, frame.mangled or frame.function or f"?{frame.module.rpartition('/')[2]}"


def _amounts(found: Found) -> tuple[int, ...]:
    finding = found.finding
    return tuple(
        round(each or 0) for each in (finding.bytes_peak, finding.bytes_end, finding.bytes_total, finding.calls)
    )
