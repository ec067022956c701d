"""The difference of two recordings as a page: totals, sites and a graph of the stacks that grew and shrank."""

from __future__ import annotations

import shlex
from typing import IO, TYPE_CHECKING

from tare.analysis import finding_changes
from tare.analysis.languages import remedy
from tare.html.markup import EMPTY, Markup, element, headings, joined
from tare.html.page import document, views
from tare.html.store import Function, Measure, StackTree
from tare.html.sums import name_sites, stack_nodes
from tare.html.timeline import both
from tare.naming.own_code import is_own
from tare.reports.difference import signed
from tare.reports.text_parts import amount, headline, nameless_files
from tare.text.units import change_share, exact, human_bytes, plural

if TYPE_CHECKING:
    from tare.analysis.difference import Change, SiteChange
    from tare.analysis.finding_changes import FindingChange, Found
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_SITES = 30
_MEASURES = (("gross_bytes", "gross"), ("net_bytes", "net"), ("tare_bytes", "tare"), ("blocks", "blocks"))
_MOMENTS = (("peak", "at the peak"), ("end", "at the end"))


def write(change: Change, out: IO[bytes]) -> None:
    body = joined(
        _head(change),
        element("main", _totals(change), _findings(change), views(), _sites(change), _over_time(change)),
    )
    tree, own = _tree(change)
    facts = {"file": change.after.path, "moments": {"diff": "at the peak"}}
    title = f"{change.before.title} and {change.after.title} - Tare"
    out.write(document(title, body, tree.encode(own, facts)))


def _head(change: Change) -> Markup:
    notes = list(dict.fromkeys([*nameless_files(change.before), *nameless_files(change.after)]))
    return element(
        "header",
        element("p", element("b", "Tare"), " heap difference", class_="brand"),
        element("h1", change.after.title),
        *(
            element("p", f"{label}: ", element("code", recording.path), f", {headline(recording)}")
            for label, recording in (("before", change.before), ("after", change.after))
        ),
        element("ul", *(element("li", note) for note in notes), class_="notes") if notes else "",
    )


def _change_cell(before: float, after: float) -> Markup:
    """The sign stands in the text: colour and hatching repeat it."""
    look = "" if round(before) == round(after) else "grown" if after > before else "shrunk"
    key = element("span", class_=f"key {look}", aria_hidden="true") if look else ""
    return element("td", key, signed(round(after) - round(before)))


def _totals(change: Change) -> Markup:
    rows = []
    for moment, label in _MOMENTS:
        for measure, name in _MEASURES:
            if measure in change.moments[moment]:
                rows.append(_row(f"{name} {label}", *change.moments[moment][measure]))
    for lens in change.after.ledger.tare_totals:
        rows.append(_row(f"tare: {lens.lens} at the peak", *change.lenses[lens.lens]["bytes_peak"]))
    before, after = change.moments["peak"]["gross_bytes"]
    sentence = f"Gross at the peak: {human_bytes(before)} before, {human_bytes(after)} after ({change_share(before, after) or 'no change'})."
    return element(
        "section",
        element("h2", "Totals"),
        element("p", sentence, class_="lead"),
        element(
            "div",
            element(
                "table",
                headings("bytes, or blocks", "before", "after", "change", ""),
                element("tbody", *rows),
                class_="numbers",
            ),
            class_="wide",
        ),
        id="balance",
    )


def _row(label: str, before: float, after: float) -> Markup:
    return element(
        "tr",
        element("th", label, scope="row"),
        element("td", exact(before)),
        element("td", exact(after)),
        _change_cell(before, after),
        element("td", change_share(before, after), class_="share"),
    )


_KINDS = {"new": "came", "gone": "went", "changed": "changed"}


def _findings(change: Change) -> Markup:
    """Those that came, went or changed. The kind stands in the text: colour and hatching repeat it."""
    found = finding_changes.between(change.before, change.after)
    shown = [each for each in found if each.kind != "same"]
    same = len(found) - len(shown)
    table = element(
        "table",
        headings("", "lens", "before", "after", "finding"),
        element("tbody", *map(_finding, shown)),
        class_="numbers sites changes",
    )
    rest = f"{plural(same, 'finding')} stayed as {'it was' if same == 1 else 'they were'}." if same else ""
    return element(
        "section",
        element("h2", "Findings that came, went or changed"),
        element("div", table, class_="wide") if shown else element("p", "No finding came, went or changed."),
        element("p", rest, class_="note") if rest else "",
        id="findings",
    )


def _finding(change: FindingChange) -> Markup:
    found = change.shown
    look = {"new": "grown", "gone": "shrunk"}.get(change.kind, "")
    return element(
        "tr",
        element("td", element("span", class_=f"key {look}", aria_hidden="true") if look else "", _KINDS[change.kind]),
        element("td", found.lens.name),
        element("td", _amount(change.before)),
        element("td", _amount(change.after)),
        element(
            "th",
            element(
                "details",
                element(
                    "summary",
                    element("code", found.frame.name),
                    " ",
                    element("span", found.frame.place, class_="place"),
                ),
                element("p", remedy(found.finding, found.frame)),
            ),
            scope="row",
        ),
    )


def _amount(found: Found | None) -> str:
    return amount(found.finding, found.lens) if found else "–"


def _sites(change: Change) -> Markup:
    rows = [_site(site) for site in change.sites[:_SITES]]
    more = len(change.sites) - len(rows)
    table = element(
        "table",
        headings("change of gross", "before", "after", "tare", "site"),
        element("tbody", *rows),
        class_="numbers sites sortable",
    )
    return element(
        "section",
        element("h2", "Sites that changed"),
        element("div", table, class_="wide") if rows else element("p", "No site changed."),
        element("p", f"{exact(more)} more sites: ", element("code", "tare diff A B -n all"), class_="note")
        if more
        else "",
        id="sites",
    )


def _site(site: SiteChange) -> Markup:
    frame = site.stack[0] if site.stack else None
    lines = [element("li", element("code", each.name), " ", element("i", each.place)) for each in site.stack]
    return element(
        "tr",
        _change_cell(site.before.peak_gross_bytes, site.after.peak_gross_bytes),
        element("td", exact(site.before.peak_gross_bytes)),
        element("td", exact(site.after.peak_gross_bytes)),
        element("td", signed(site.after.tare_bytes - site.before.tare_bytes)),
        element(
            "th",
            element(
                "details",
                element(
                    "summary",
                    element("code", frame.name if frame else "(unknown)"),
                    " ",
                    element("span", frame.place if frame else "", class_="place"),
                ),
                element("ol", *lines, class_="stack"),
            ),
            scope="row",
        ),
    )


def _over_time(change: Change) -> Markup:
    drawn = both(change.before, change.after)
    return element("section", element("h2", "Heap over time"), drawn, id="time") if drawn else EMPTY


def _tree(change: Change) -> tuple[StackTree, dict[Function, bool]]:
    """Gross at the peak: for each stack its growth, or its decrease. Files of code go by their last part, as builds move them."""
    command = (
        f"tare diff {shlex.quote(change.before.path)} {shlex.quote(change.after.path)} --json | jq .peak.gross_bytes"
    )
    tree = StackTree([Measure(f"diff.{what}", what, "bytes", command) for what in ("grown", "shrunk")])
    own: dict[Function, bool] = {}
    sums: dict[int, int] = {}
    for sign, recording in ((-1, change.before), (1, change.after)):
        for node, value in _gross(recording, tree, own).items():
            sums[node] = sums.get(node, 0) + sign * value
    for node, value in sums.items():
        tree.add(node, 0 if value > 0 else 1, abs(value))
    return tree, own


def _gross(recording: Recording, tree: StackTree, own: dict[Function, bool]) -> dict[int, int]:
    recording.database.use("site_sizes")
    rows = recording.database.rows(
        "select stack_id, sum((usable_bytes + header_bytes) * peak_blocks) from site_sizes"
        " group by stack_id having sum(peak_blocks) > 0 order by stack_id"
    )

    def moved(frame: Frame) -> Frame:
        """The same in another build: no folders, no offsets in the file of code."""
        stable = frame._replace(
            file=frame.file.rpartition("/")[2], module=frame.module.rpartition("/")[2], module_offset=None
        )
        own.setdefault(Function.of(stable), is_own(recording.process["exe"], frame.module, frame.file, frame.name))
        return stable

    nodes = stack_nodes(recording, tree, [row[0] for row in rows], moved)
    name_sites(recording, tree, nodes, moved)
    sums: dict[int, int] = {}
    for stack_id, value in rows:
        sums[nodes[stack_id]] = sums.get(nodes[stack_id], 0) + round(value)
    return sums
