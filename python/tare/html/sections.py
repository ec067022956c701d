"""The parts of the page that need no script: head, findings, the heap over time, top sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.records import query, sizes_line
from tare.analysis.site_facts import of_sites
from tare.analysis.worth import ranking
from tare.html.markup import EMPTY, Markup, element, headings, joined
from tare.html.timeline import chart
from tare.reports.do_first import gains
from tare.reports.text_parts import amount, caveats, headline, nameless_files
from tare.reports.text_report import default_findings
from tare.schema.missing import lacks_slop, words_of
from tare.text.units import exact, human_bytes, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.analysis.site_facts import Bars, Histograms
    from tare.analysis.worth import Entry, Whole
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame

_SITES = 20
_BAR = 8  # characters of the longest bar


def head(recording: Recording) -> Markup:
    notes = [element("li", note) for note in (*caveats(recording), *nameless_files(recording))]
    return element(
        "header",
        element("p", element("b", "Tare"), " heap report", class_="brand"),
        element("h1", recording.title),
        element("p", headline(recording).removeprefix(f"{recording.title}, ")),
        element("p", element("code", " ".join(recording.process["command_line"].split())), class_="command"),
        element("ul", *notes, class_="notes") if notes else "",
    )


def findings(recording: Recording) -> Markup:
    """In order of worth; then the first findings of each lens that aren't in that list."""
    listed = ranking(recording.by_line)
    frames = recording.by_line.finding_frames([entry.finding for entry in listed.first])
    first = {(name, entry.finding.site_location_id) for entry in listed.first for name in entry.lenses}
    found = [each for each in default_findings(recording) if (each[0].name, each[1].site_location_id) not in first]
    stacks = recording.site_stacks(sorted({finding.site_id for _, finding, _ in found}))
    of_first = recording.by_line.site_stacks(sorted({entry.finding.site_id for entry in listed.first}))
    items = [
        _finding(entry.lens, entry.finding, frame, of_first.get(entry.finding.site_id, []), _Gain(entry, listed.whole))
        for entry, frame in zip(listed.first, frames, strict=True)
    ]
    items += [_finding(lens, finding, frame, stacks.get(finding.site_id, [])) for lens, finding, frame in found]
    body = (
        element("ol", *items, class_="findings") if items else element("p", "No finding is above a lens's threshold.")
    )
    return element("section", element("h2", "Findings"), body, id="findings")


class _Gain(NamedTuple):
    entry: Entry
    whole: Whole


def _finding(lens: Lens, finding: Finding, frame: Frame, stack: list[Frame], gain: _Gain | None = None) -> Markup:
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
        element("h3", element("code", frame.name), " ", element("span", frame.place, class_="place")),
        element("p", finding.remedy),
        element(
            "details",
            element("summary", "Evidence and stack"),
            element("p", ", ".join(facts) + "."),
            element("p", lens.why),
            _stack(stack),
            guide,
        ),
        class_="finding",
    )


def _stack(stack: list[Frame]) -> Markup:
    """Short elements: a page has some hundred frames."""
    lines = (element("li", element("code", frame.name), " ", element("i", _place(frame))) for frame in stack)
    return element("ol", *lines, class_="stack")


def _place(frame: Frame) -> str:
    return frame.place or frame.module.rpartition("/")[2]


def over_time(recording: Recording) -> Markup:
    drawn = chart(recording)
    if not drawn:
        return EMPTY
    return element("section", element("h2", "Heap over time"), element("div", drawn, id="timeline"), id="time")


def sites(recording: Recording) -> Markup:
    page = query(recording, "peak_blocks", "usable", [], _SITES)
    if not page.records:
        return element(
            "section", element("h2", "Top sites at the peak"), element("p", "No block was live."), id="sites"
        )
    names = [recording.names.at(row) for row in _site_rows(recording, [record.site_id for record in page.records])]
    histograms = of_sites(recording, [record.site_id for record in page.records])
    rows = []
    has_slop = not lacks_slop(words_of(recording.process["missing_facts"]))
    for record, frame in zip(page.records, names, strict=True):
        rows.append(
            element(
                "tr",
                element("td", exact(record.gross_bytes), title=human_bytes(record.gross_bytes)),
                element("td", percent(record.gross_bytes, page.gross_bytes)),
                element("td", exact(record.blocks)),
                element("td", exact(record.slop_bytes) if has_slop else "?"),
                element("td", exact(record.calls)),
                element(
                    "th",
                    element(
                        "details",
                        element(
                            "summary", element("code", frame.name), " ", element("span", frame.place, class_="place")
                        ),
                        element("p", "Live block sizes in bytes: ", sizes_line(record)),
                        _histograms(histograms[record.site_id]),
                        _stack(record.stack),
                    ),
                    scope="row",
                ),
            )
        )
    titles = ("gross bytes", "share", "blocks", "slop", "allocations", "site")
    table = element(
        "table",
        headings(*titles),
        element("tbody", *rows),
        class_="numbers sites sortable",
    )
    more = page.matching - len(page.records)
    return element(
        "section",
        element("h2", "Top sites at the peak"),
        element("div", table, class_="wide"),
        element("p", f"{exact(more)} more sites: ", element("code", "tare report FILE -n all"), class_="note")
        if more
        else "",
        id="sites",
    )


def _histograms(found: Histograms) -> Markup:
    """Sizes and lifetimes as bars of text: a screen reader reads the counts."""
    parts = (
        element("figure", element("figcaption", title), element("pre", *_bars(bars)))
        for title, bars in (
            ("Sizes (usable bytes)", found.sizes),
            ("Freed (allocations later)", found.lifetimes),
        )
    )
    return element("div", *parts, class_="bars")


def _bars(bars: Bars) -> Iterator[Markup]:
    """Without those of no block."""
    bars = [bar for bar in bars if bar[1]]
    most = max([count for _, count in bars] + [1.0])
    width, count_width = (
        max(map(len, texts))
        for texts in ([label for label, _ in bars] or [""], [exact(count) for _, count in bars] or [""])
    )
    for label, count in bars:
        bar = "█" * round(_BAR * count / most) or "▏"
        yield joined(
            f"{label:>{width}} {exact(count):>{count_width}} ", element("b", bar, aria_hidden="true"), Markup("\n")
        )


def _site_rows(recording: Recording, site_ids: list[int]) -> list[int | None]:
    listed = ",".join(map(str, site_ids))
    rows = dict(recording.database.rows(f"select site_id, site_location_id from sites where site_id in ({listed})"))
    recording.names.prepare(row for row in rows.values() if row is not None)
    return [rows[site_id] for site_id in site_ids]


def contents() -> Markup:
    links = (
        ("balance", "Balance"),
        ("findings", "Findings"),
        ("time", "Over time"),
        ("views", "Explore"),
        ("sites", "Sites"),
        ("resident", "Resident"),
    )
    return element(
        "nav", *(joined(element("a", label, href=f"#{name}"), " ") for name, label in links), aria_label="Sections"
    )
