"""Findings of the page: remedy, evidence, stack, and the layout of the type that a padding finding is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.languages import remedy
from tare.analysis.site_facts import of_lines
from tare.analysis.worth import ranking
from tare.html.histograms import bars_of
from tare.html.markup import EMPTY, Markup, element, joined
from tare.html.type_layout import TypePictures
from tare.reports.do_first import gains
from tare.reports.text_parts import amount
from tare.reports.text_report import default_findings
from tare.text.units import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.analysis.worth import Entry, Ranking, Whole
    from tare.html.source_lines import SourceLines
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame


class Listed(NamedTuple):
    """Findings in order of worth; then the first ones of each lens that aren't in that list."""

    ranked: Ranking
    first: list[tuple[Entry, Frame]]
    rest: list[tuple[Lens, Finding, Frame]]

    @property
    def frames(self) -> list[Frame]:
        return [frame for _, frame in self.first] + [frame for _, _, frame in self.rest]


def listed_findings(recording: Recording) -> Listed:
    ranked = ranking(recording.by_line)
    frames = recording.by_line.finding_frames([entry.finding for entry in ranked.first])
    first = {(name, entry.finding.site_location_id) for entry in ranked.first for name in entry.lenses}
    rest = [each for each in default_findings(recording) if (each[0].name, each[1].site_location_id) not in first]
    return Listed(ranked, list(zip(ranked.first, frames, strict=True)), rest)


def findings(recording: Recording, listed: Listed, lines: SourceLines | None = None) -> Markup:
    types = TypePictures(recording)
    stacks = recording.site_stacks(sorted({finding.site_id for _, finding, _ in listed.rest}))
    of_first = recording.by_line.site_stacks(sorted({entry.finding.site_id for entry, _ in listed.first}))

    histograms = of_lines(
        recording,
        [
            finding.site_location_id
            for finding in (*(e.finding for e, _ in listed.first), *(f for _, f, _ in listed.rest))
        ],
    )

    def bars(finding: Finding) -> Markup:
        found = histograms.get(finding.site_location_id) if finding.site_location_id is not None else None
        return joined(element("p", "All blocks of this line:"), bars_of(found)) if found else EMPTY

    def drawn(finding: Finding, names: Sequence[str]) -> Markup:
        return types.of_line(finding.site_location_id) if "padding" in names else EMPTY

    items = [
        _finding(
            entry.lens,
            entry.finding,
            frame,
            stack_list(of_first.get(entry.finding.site_id, []), lines),
            lines,
            drawn(entry.finding, entry.lenses),
            bars(entry.finding),
            _Gain(entry, listed.ranked.whole),
        )
        for entry, frame in listed.first
    ]
    items += [
        _finding(
            lens,
            finding,
            frame,
            stack_list(stacks.get(finding.site_id, []), lines),
            lines,
            drawn(finding, (lens.name,)),
            bars(finding),
        )
        for lens, finding, frame in listed.rest
    ]
    body = (
        element("ol", *items, class_="findings") if items else element("p", "No finding is above a lens's threshold.")
    )
    return element("section", element("h2", "Findings"), body, id="findings")


class _Gain(NamedTuple):
    entry: Entry
    whole: Whole


def _finding(
    lens: Lens,
    finding: Finding,
    frame: Frame,
    stack: Markup,
    lines: SourceLines | None,
    picture: Markup,
    bars: Markup,
    gain: _Gain | None = None,
) -> Markup:
    potential = "" if lens.weight == "tare" else " potential"
    facts = [f"{exact(finding.blocks)} blocks", f"{exact(finding.calls)} calls", f"confidence {finding.confidence}"]
    if finding.sites > 1:
        facts.append(f"{finding.sites} stacks")
    if gain:
        facts += [f"effort: {gain.entry.worth.effort}", gain.entry.worth.evidence]
    shown = gains(gain.entry, gain.whole) if gain else amount(finding, lens)
    guide = element("p", "Worked example: ", element("code", f"guide/{lens.guide}")) if lens.guide else ""
    return element(
        "li",
        element(
            "div",
            element("span", shown, class_="amount"),
            *(
                element("span", name, class_=f"tag{potential}")
                for name in (gain.entry.lenses if gain else (lens.name,))
            ),
            element("span", "potential", class_="mark") if potential else "",
            element("span", finding.mark, class_="mark") if finding.mark else "",
            class_="what",
        ),
        element("h3", element("code", frame.name), " ", place_of(frame, lines)),
        element("p", remedy(finding, frame)),
        picture,
        element(
            "details",
            element("summary", "Evidence and stack"),
            element("p", ", ".join(facts) + "."),
            element("p", lens.why),
            bars,
            stack,
            guide,
        ),
        class_="finding",
    )


def stack_list(stack: list[Frame], lines: SourceLines | None = None) -> Markup:
    """Short elements: a page has some hundred frames."""
    shown = (
        element("li", element("code", frame.name), " ", element("i", (lines and lines.link(frame)) or _place(frame)))
        for frame in stack
    )
    return element("ol", *shown, class_="stack")


def place_of(frame: Frame, lines: SourceLines | None) -> Markup:
    return element("span", (lines and lines.link(frame)) or frame.place, class_="place")


def _place(frame: Frame) -> str:
    return frame.place or frame.module.rpartition("/")[2]
