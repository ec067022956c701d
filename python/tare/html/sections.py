"""The parts of the page that need no script: head, the heap over time, top sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.analysis.records import query, sizes_line
from tare.analysis.site_facts import of_sites
from tare.html.findings import place_of, stack_list
from tare.html.histograms import bars_of
from tare.html.markup import EMPTY, Markup, element, headings, joined
from tare.html.timeline import chart
from tare.reports.text_parts import caveats, headline, nameless_files
from tare.schema.missing import lacks_slop, words_of
from tare.text.units import exact, human_bytes, percent

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.analysis.records import Page
    from tare.html.source_lines import SourceLines
    from tare.naming.names import Frame

_SITES = 20


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


def over_time(recording: Recording) -> Markup:
    drawn = chart(recording)
    if not drawn:
        return EMPTY
    return element("section", element("h2", "Heap over time"), element("div", drawn, id="timeline"), id="time")


def sites(recording: Recording, lines: SourceLines | None) -> Markup:
    page = query(recording, "peak_blocks", "usable", [], _SITES)
    if not page.records:
        return element(
            "section", element("h2", "Top sites at the peak"), element("p", "No block was live."), id="sites"
        )
    names = _frames(recording, page)
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
                        element("summary", element("code", frame.name), " ", place_of(frame, lines)),
                        element("p", "Live block sizes in bytes: ", sizes_line(record)),
                        bars_of(histograms[record.site_id]),
                        stack_list(record.stack, lines),
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


def site_frames(recording: Recording) -> list[Frame]:
    """Those that name the sites of the table."""
    return _frames(recording, query(recording, "peak_blocks", "usable", [], _SITES))


def _frames(recording: Recording, page: Page) -> list[Frame]:
    if not page.records:
        return []
    site_ids = [record.site_id for record in page.records]
    listed = ",".join(map(str, site_ids))
    rows = dict(recording.database.rows(f"select site_id, site_location_id from sites where site_id in ({listed})"))
    recording.names.prepare(row for row in rows.values() if row is not None)
    return [recording.names.at(rows[site_id]) for site_id in site_ids]


def contents(*, with_sources: bool) -> Markup:
    links = [
        ("balance", "Balance"),
        ("findings", "Findings"),
        ("time", "Over time"),
        ("views", "Explore"),
        ("sites", "Sites"),
        *([("lines", "Source lines")] if with_sources else []),
        ("resident", "Resident"),
    ]
    return element(
        "nav", *(joined(element("a", label, href=f"#{name}"), " ") for name, label in links), aria_label="Sections"
    )
