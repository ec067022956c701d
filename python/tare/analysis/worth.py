"""The worth of findings: the peak RSS and the CPU time that each would return, and one list of them in that order.

A lens counts the saving of its remedy (`Saving`); here it is priced. Findings of several lenses at one site have one cause, so
that they are one entry of the list. Its gain counts each byte and each call once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis import prices
from tare.analysis.account import FREE, OLDER
from tare.lenses.call_price import MOVING_REALLOC_NS, REALLOC_NS
from tare.text.units import call_duration, exact, human_bytes, human_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tare.analysis.ledger import Finding
    from tare.analysis.prices import Price
    from tare.analysis.recording import Recording
    from tare.lenses.lens import Lens
    from tare.lenses.saving import Effort

# Of the peak RSS, and of the time of the run: entries below both aren't on the first screen. With 0.005, thirty real programs had 20 entries more, of which one
# of fifteen returned 1 % (docs/first-screens.md).
LEAST_SHARE = 0.01
# Their bytes are granted by the ledger, so that they add up. An arena, of `headers`, saves the slop that `slop` names, too.
_ADD_UP = ("leaks", "duplicates", "unwritten")
_ARENA = ("slop", "headers")


class Worth(NamedTuple):
    """None: unknown."""

    gain_peak_bytes: float | None
    gain_cpu_ns: float | None
    peak_exact: bool  # a sum over all blocks; otherwise an estimate. CPU time is always an estimate
    effort: Effort
    evidence: str
    is_bound: bool = (
        False  # gain_peak_bytes is all that was resident of the blocks: the rest was never touched, or swapped out
    )
    peak_at_least: bool = False  # the gain is a lower bound
    cpu_at_least: bool = False


class Whole(NamedTuple):
    """Gains are shares of it."""

    peak_bytes: float  # RSS without the recorder; gross where the RSS is unknown
    run_ns: float  # with the recorder's work, which isn't measured: shares of it are too small
    is_rss: bool
    block_bytes: float = math.inf  # resident bytes of all blocks, at most: no remedy returns more; inf: unknown

    def score(self, worth: Worth) -> float:
        """The sum of both shares: the order of the list."""
        peak, cpu = self.shares(worth)
        return peak + cpu

    def shares(self, worth: Worth) -> tuple[float, float]:
        peak = (worth.gain_peak_bytes or 0.0) / self.peak_bytes if self.peak_bytes else 0.0
        return peak, (worth.gain_cpu_ns or 0.0) / self.run_ns if self.run_ns else 0.0

    def is_enough(self, worth: Worth) -> bool:
        return max(self.shares(worth)) >= LEAST_SHARE


class Entry(NamedTuple):
    """One line of the list: a cause, found by one lens or by several."""

    lens: Lens  # the one that gains most by itself: its remedy is shown
    finding: Finding
    lenses: tuple[str, ...]  # all that found it, the leading one first
    worth: Worth


_Group = list["tuple[Lens, Finding, Worth]"]


class Ranking(NamedTuple):
    whole: Whole
    first: list[Entry]  # worth doing, best first
    rest: list[Entry]  # gains below LEAST_SHARE, or unknown


def whole_of(recording: Recording) -> Whole:
    found = recording.account
    rss = found.peak_rss_bytes if found else 0
    gross = recording.process["peak_gross_bytes"] or 0
    # The parts may have been read after the heap's peak: what is free in the allocator then, was blocks at the peak. The waste of guide
    # pair 09, 18 MiB, was bounded by the 11 KiB of blocks that were left.
    heap = ("blocks", FREE, OLDER)
    blocks = sum(part.most_bytes for part in found.parts if part.name in heap) if found else math.inf
    return Whole(float(rss or gross), float(recording.process["duration_ns"] or 0), bool(rss), blocks)


def is_worth_acting_on(finding: Finding, lens: Lens) -> bool:
    """True if a screen without options shows it: of ten real programs' potential findings of low confidence most were false."""
    return lens.weight == "tare" or finding.confidence != "low"


def worth_of(recording: Recording, finding: Finding, whole: Whole, by: str = "site_id") -> Worth:
    """Of one finding alone. `by`: how findings were folded, as for Recording.findings."""
    saving = finding.saving
    parts = [_why_peak(finding, recording)] if saving.peak_bytes else []
    if saving.untouched_bytes >= 1:
        parts.append(f"{human_bytes(saving.untouched_bytes)} more were never touched and return no RSS")
    exact_peak = saving.exact and finding.samples is None
    worth = _within(whole, Worth(saving.peak_bytes, None, exact_peak, saving.effort, "; ".join(parts)))
    worth = worth._replace(peak_at_least=(finding.at_least or saving.peak_at_least) and not worth.is_bound)
    pages = (worth.gain_peak_bytes or 0.0) / prices.PAGE_BYTES if saving.faults else 0.0
    calls = saving.calls or saving.frees or saving.reallocs or saving.moving_reallocs
    if not (calls or saving.copied_bytes or saving.maps or pages >= 1):
        return worth
    site = finding.site_id if by == "site_id" else finding.site_location_id
    cpu_ns, why_cpu = _cpu(finding, lambda: recording.prices.of(site, by, saving.timed), pages)
    evidence = f"{worth.evidence}; {why_cpu}" if worth.evidence else why_cpu
    return worth._replace(gain_cpu_ns=cpu_ns, evidence=evidence, cpu_at_least=saving.cpu_at_least)


def _within(whole: Whole, worth: Worth) -> Worth:
    """Lenses count bytes that the program has got. It may have touched a part of them only: the rest never was in the RSS."""
    gain = worth.gain_peak_bytes
    if gain is None or gain <= whole.block_bytes:
        return worth
    resident = human_bytes(whole.block_bytes)
    reason = f"{human_bytes(gain)} in blocks, but at most {resident} of all blocks were resident: the rest was never touched, or swapped out"
    evidence = f"{reason}; {worth.evidence}" if worth.evidence else reason
    return worth._replace(gain_peak_bytes=whole.block_bytes, peak_exact=False, evidence=evidence, is_bound=True)


def _cpu(finding: Finding, price_of: Callable[[], Price], pages: float) -> tuple[float, str]:
    saving = finding.saving
    ns, parts = 0.0, []
    if saving.calls or saving.frees:
        price = price_of()
        ns += saving.calls * price.allocation_ns + saving.frees * price.free_ns
        each = f"{call_duration(price.allocation_ns)} an allocation"
        if saving.frees:
            each += f" and {call_duration(price.free_ns)} a free"
        parts.append(f"{human_count(max(saving.calls, saving.frees))} calls at {each} ({price.source})")
    for reallocs, each_ns, kind in (
        (saving.reallocs, REALLOC_NS, "in place"),
        (saving.moving_reallocs, MOVING_REALLOC_NS, "that move"),
    ):
        if reallocs >= 1:
            ns += reallocs * each_ns
            parts.append(f"{human_count(reallocs)} reallocs {kind} at {call_duration(each_ns)} (a bench)")
    if saving.copied_bytes >= 1:
        ns += saving.copied_bytes * prices.COPY_NS_A_BYTE
        parts.append(f"{human_bytes(saving.copied_bytes)} copied at {1 / prices.COPY_NS_A_BYTE:.2g} GB/s")
    if saving.maps:
        ns += saving.maps * (prices.MAP_NS + prices.PAGE_NS)
        each = call_duration(prices.MAP_NS + prices.PAGE_NS)
        parts.append(f"{human_count(saving.maps)} mappings at {each} with one page fault each (a bench)")
    if pages >= 1:
        ns += pages * prices.PAGE_NS
        parts.append(
            f"{human_count(pages)} first writes to pages, with their release, at {call_duration(prices.PAGE_NS)} (a bench)"
        )
    if saving.cpu_at_least:
        parts.append("without the cache misses of the program's own reads, which the calls don't show")
    return ns, ", ".join(parts)


def _why_peak(finding: Finding, recording: Recording) -> str:
    if finding.samples is not None:
        return f"{exact(finding.samples)} sampled blocks"
    if finding.rests_on_snapshot and recording.snapshot:
        return recording.snapshot.words
    return "all blocks at the peak"


def _without_steps(found: Sequence[tuple[Lens, Finding, Worth]]) -> Sequence[tuple[Lens, Finding, Worth]]:
    """A step of growth by realloc ends a block and starts one, but calls neither malloc nor free: churn of such steps is growth."""
    steps = sum(
        finding.calls
        for lens, finding, _ in found
        if lens.name == "growth" and finding.saving.reallocs + finding.saving.moving_reallocs
    )
    return [each for each in found if each[0].name != "churn" or 2 * steps < each[1].calls]


def merged(whole: Whole, found: Sequence[tuple[Lens, Finding, Worth]]) -> Entry:
    """One entry of the findings of one site: each byte and each call counts once."""
    found = _without_steps(found)
    lead = max(found, key=lambda each: (whole.score(each[2]), each[2].gain_peak_bytes is not None))
    peaks: dict[str, float] = {}
    cpus: dict[str, float] = {}
    for lens, _, each in found:
        for sums, gain in ((peaks, each.gain_peak_bytes), (cpus, each.gain_cpu_ns)):
            if gain is not None:
                sums[lens.name] = sums.get(lens.name, 0.0) + gain
    peak = None
    if peaks:
        granted = sum(peaks.get(name, 0.0) for name in _ADD_UP) + max(peaks.get(name, 0.0) for name in _ARENA)
        peak = max(granted, *peaks.values())
    others = sorted((each for each in found if each is not lead), key=lambda each: -whole.score(each[2]))
    counted = [each for each in found if each[2].gain_peak_bytes]
    most = max(cpus, key=lambda name: cpus[name], default=None)
    worth = lead[2]._replace(
        gain_peak_bytes=peak,
        gain_cpu_ns=None if most is None else cpus[most],
        cpu_at_least=any(each.cpu_at_least for lens, _, each in found if lens.name == most),
        peak_exact=all(each[2].peak_exact for each in counted),
        evidence="; ".join(
            dict.fromkeys(part for each in (lead, *others) for part in each[2].evidence.split("; ") if part)
        ),
    )
    worth = _within(whole, worth._replace(is_bound=any(each[2].is_bound for each in counted)))
    worth = worth._replace(peak_at_least=worth.peak_at_least and not worth.is_bound)
    return Entry(lead[0], lead[1], tuple(dict.fromkeys(each[0].name for each in (lead, *others))), worth)


def ranking(recording: Recording, found: Iterable[tuple[Lens, Finding]] | None = None) -> Ranking:
    """The list of a recording by line; `found`: its findings, where they were computed already."""
    if found is None:
        found = [
            (lens, each) for lens in recording.ledger.lenses for each in recording.findings(lens, by="site_location_id")
        ]
    whole = whole_of(recording)
    entries = causes(
        recording,
        whole,
        [
            (lens, finding, worth_of(recording, finding, whole, "site_location_id"))
            for lens, finding in found
            if is_worth_acting_on(finding, lens)
        ],
    )
    first = [each for each in entries if whole.is_enough(each.worth)]
    return Ranking(whole, first, [each for each in entries if not whole.is_enough(each.worth)])


# Entries whose names are compared: names of all would take a second of a compiler's report.
_MOST_NAMED = 24


def causes(recording: Recording, whole: Whole, found: Iterable[tuple[Lens, Finding, Worth]]) -> list[Entry]:
    """One entry for each cause, best first: findings of several lenses at one line, or at lines with the same name."""
    at: dict[int | None, _Group] = {}
    for each in found:
        at.setdefault(each[1].site_location_id, []).append(each)
    groups = _joined(recording, whole, list(at.values()))
    return sorted((merged(whole, each) for each in groups), key=lambda each: -whole.score(each.worth))


def _joined(recording: Recording, whole: Whole, groups: list[_Group]) -> list[_Group]:
    """The first groups with the same name are one: copies of an inlined function, calls of one macro."""
    groups.sort(key=lambda group: -max(whole.score(each[2]) for each in group))
    named, rest = groups[:_MOST_NAMED], groups[_MOST_NAMED:]
    frames = recording.finding_frames([group[0][1] for group in named])
    joined: dict[object, _Group] = {}
    for number, (group, frame) in enumerate(zip(named, frames, strict=True)):
        joined.setdefault(frame.reads if frame.function else number, []).extend(group)
    return [*joined.values(), *rest]
