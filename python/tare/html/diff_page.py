"""The difference of two recordings as a page: totals, sites and a graph of the stacks that grew and shrank."""

from __future__ import annotations

import shlex
from typing import IO, TYPE_CHECKING, NamedTuple

from tare.analysis import finding_changes
from tare.analysis.languages import remedy
from tare.html.markup import EMPTY, Markup, element, headings, joined
from tare.html.page import document, moment_names, views
from tare.html.store import Function, Measure, StackTree
from tare.html.sums import grants, lens_measures, name_sites, rounded, stack_columns, stack_nodes
from tare.html.timeline import both
from tare.naming.own_code import is_own
from tare.reports.difference import signed
from tare.reports.text_parts import amount, headline, nameless_files
from tare.text.units import change_share, exact, human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    moments = {**moment_names(change.before), **moment_names(change.after)}
    facts = {"file": shlex.quote(change.after.path), "moments": moments, "diff": True}
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
        headings("change of gross", "before", "after", "tare", "blocks", "allocations", "site"),
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
        element("td", signed(site.after.peak_blocks - site.before.peak_blocks)),
        element("td", signed(site.after.calls - site.before.calls)),
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
    """For each measure and stack its growth, or its decrease. Files of code go by their last part, as builds move them."""
    compared = _compared(change)
    tree = StackTree(
        [each.measure._replace(key=f"{each.measure.key}:{what}") for each in compared for what in ("grown", "shrunk")]
    )
    own: dict[Function, bool] = {}
    sums: list[dict[int, int]] = [{} for _ in compared]
    for sign, recording in ((-1, change.before), (1, change.after)):
        nodes = _nodes_of(recording, tree, own)
        for each, by_node in zip(compared, sums, strict=True):
            for stack_id, value in rounded(recording.database.rows(each.by_stack(recording))):
                node = nodes[stack_id]
                by_node[node] = by_node.get(node, 0) + sign * value
    _add_net(compared, sums)
    for number, by_node in enumerate(sums):
        for node, value in by_node.items():
            tree.add(node, 2 * number + (value < 0), abs(value))
    return tree, own


class _Compared(NamedTuple):
    """A measure, and the query of its sums by stack."""

    measure: Measure
    by_stack: Callable[[Recording], str]


def _compared(change: Change) -> list[_Compared]:
    """Measures that both recordings have. Net is computed later: it is gross without tare."""
    files = " ".join(shlex.quote(each.path) for each in (change.before, change.after))
    has_tare = change.before.has_tare and change.after.has_tare
    both = {column.measure.key for column in stack_columns(change.before)}
    found = []
    for column in stack_columns(change.after):
        key, label, unit, _, _ = column.measure
        if key not in both:
            continue
        command = f'for each in {files}; do tare sql $each "select sum({column.sql}) from site_sizes"; done'
        sql = f"select stack_id, sum({column.sql}) from site_sizes group by stack_id order by stack_id"
        found.append(_Compared(Measure(key, label, unit, command), lambda _, sql=sql: sql))  # type: ignore[misc]
        moment, _, what = key.partition(".")
        if what == "gross" and moment != "total" and has_tare:
            for name, label in (("net", "net"), ("tare", "tare, all lenses")):
                command = f"tare diff {files} --json | jq .{moment}.{name}_bytes"
                found.append(
                    _Compared(Measure(f"{moment}.{name}", label, "bytes", command), _tare_of(f"bytes_{moment}"))
                )
    lenses = dict.fromkeys(
        (lens, granted)
        for each in (change.before, change.after)
        for lens, granted, _ in lens_measures(each)
        if lens in change.lenses
    )
    for lens, granted in lenses if has_tare else ():
        moment = granted.removeprefix("bytes_")
        command = f"tare diff {files} --json | jq '.lenses.\"{lens}\".{granted}'"
        measure = Measure(f"{moment}.tare:{lens}", f"tare: {lens}", "bytes", command)
        found.append(_Compared(measure, _tare_of(granted, lens)))
    return found


def _tare_of(column: str, lens: str | None = None) -> Callable[[Recording], str]:
    return lambda recording: grants(recording, column, lens)


def _add_net(compared: Sequence[_Compared], sums: Sequence[dict[int, int]]) -> None:
    """Net from its place, which has the tare, and gross."""
    place = {each.measure.key: number for number, each in enumerate(compared)}
    for key, number in place.items():
        moment, _, what = key.partition(".")
        if what == "net":
            gross, tare = sums[place[f"{moment}.gross"]], sums[number]
            net = {node: gross.get(node, 0) - tare.get(node, 0) for node in gross.keys() | tare.keys()}
            tare.clear()
            tare.update(net)


def _nodes_of(recording: Recording, tree: StackTree, own: dict[Function, bool]) -> dict[int, int]:
    recording.database.use("site_sizes")
    rows = recording.database.rows("select distinct stack_id from site_sizes order by stack_id")

    def moved(frame: Frame) -> Frame:
        """The same in another build: no folders, no offsets in the file of code."""
        stable = frame._replace(
            file=frame.file.rpartition("/")[2], module=frame.module.rpartition("/")[2], module_offset=None
        )
        own.setdefault(Function.of(stable), is_own(recording.process["exe"], frame.module, frame.file, frame.name))
        return stable

    nodes = stack_nodes(recording, tree, [row[0] for row in rows], moved)
    name_sites(recording, tree, nodes, moved)
    return nodes
