"""A comparison of two groups of recordings as a page: changes with their intervals as a chart, and as tables. It has no script."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tare.fleet.order_statistics import label
from tare.html.fleet_parts import section, site_cell, wide_table
from tare.html.markup import EMPTY, Markup, element, joined
from tare.html.page import document
from tare.html.timeline import steps
from tare.naming.brief_names import brief
from tare.reports.fleet_difference import amount, change, findings, headline, kind_of, moved_words, notes
from tare.text.units import human_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.fleet.comparison import Comparison, SiteShift
    from tare.fleet.store import Condition

_WIDTH, _ROW, _TOP, _BOTTOM = 1000, 26, 8, 34
_LEFT, _RIGHT = 330, 16
_MOST_DRAWN = 20
_NAME_COLUMNS = 44  # of a site, left of the chart


def write(
    result: Comparison,
    measure: str,
    unit: str,
    store: Path,
    groups: tuple[Sequence[Condition], Sequence[Condition]],
    out: IO[bytes],
) -> None:
    before, after = (" and ".join(f"{each.name}={each.pattern}" for each in group) for group in groups)
    head = element(
        "header",
        element("p", element("b", "Tare"), " fleet diff", class_="brand"),
        element("h1", f"{before} → {after}"),
        element("p", headline(result, unit)),
        element("p", element("code", str(store)), class_="command"),
        element("ul", *(element("li", note) for note in notes(result, unit)), class_="notes"),
    )
    body = joined(head, element("main", _totals(result), _sites(result, measure, unit)))
    out.write(document(f"{result.program}: {before} → {after} - Tare fleet", body, None))


def _totals(result: Comparison) -> Markup:
    rows = [
        element(
            "tr",
            element("th", f"{name} {label(p)}", scope="row"),
            element("td", human_bytes(each.before)),
            element("td", human_bytes(each.after)),
            element("td", change(each, "bytes")),
        )
        for name, of in result.totals.items()
        for p, each in of.items()
    ]
    if not rows:
        return EMPTY
    return section("A recording", wide_table(["", "before", "after", "change [95 % interval]"], rows))


def _sites(result: Comparison, measure: str, unit: str) -> Markup:
    first, *rest = findings(result, measure, unit)
    words = [element("p", line, class_="note") for line in rest]
    if not result.sites:
        return section(first, *words)
    kind = kind_of(measure)
    shown = list(result.sites[0].quantiles)
    rows = [
        element(
            "tr",
            element("td", each.kind, class_="text"),
            element("td", amount(each.mean.before, kind)),
            element("td", change(each.mean, kind)),
            *(element("td", change(each.quantiles[p], kind)) for p in shown),
            element("td", f"{each.probability:.1g}"),
            element("td", moved_words(each) if each.partner else "", class_="text"),
            element("th", site_cell(each), scope="row"),
        )
        for each in result.sites
    ]
    titles = ["", "mean before", "change of the mean [95 %]", *(f"change of {label(p)} [95 %]" for p in shown)]
    more = result.found - len(result.sites)
    return section(
        first,
        *words,
        _chart(result.sites[:_MOST_DRAWN], kind),
        wide_table([*titles, "chance", "moved", "site"], rows, "numbers sites"),
        element("p", f"and {more} more (-n all)", class_="note") if more else "",
    )


def _chart(sites: Sequence[SiteShift], kind: str) -> Markup:
    """Dots for changes of the mean, lines for their intervals; less than before is left of the middle. The words repeat both."""
    reach = 1.05 * max(max(abs(each.mean.low), abs(each.mean.high), abs(each.mean.change)) for each in sites)
    if reach <= 0:
        return EMPTY
    height = _TOP + _ROW * len(sites) + _BOTTOM
    bottom = height - _BOTTOM
    drawn: list[Markup] = []
    for size in steps(reach, binary=kind == "bytes"):
        for signed in {size, -size}:
            x = _x(signed, reach)
            words = f"{'+' if signed > 0 else ''}{amount(signed, kind)}" if signed else "0"
            drawn.append(element("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid" if signed else "curve"))
            drawn.append(element("text", words, x=x, y=height - 10, text_anchor="middle"))
    for turn, each in enumerate(sites):
        y = round(_TOP + _ROW * (turn + 0.5), 1)
        words = f"{each.function}: {each.kind}, {change(each.mean, kind)}"
        name = brief(each.function, _NAME_COLUMNS)
        drawn.append(element("text", name, x=_LEFT - 12, y=y + 4, text_anchor="end", class_="strong"))
        drawn.append(
            element(
                "g",
                element("title", words),
                element("line", x1=_x(each.mean.low, reach), x2=_x(each.mean.high, reach), y1=y, y2=y, class_="curve"),
                element("circle", cx=_x(each.mean.change, reach), cy=y, r=4, class_="dot"),
            )
        )
    return element(
        "figure",
        element("figcaption", "Change of the mean of a recording, with the 95 % interval", class_="note"),
        element("svg", element("title", "Change of the mean by site"), *drawn, viewBox=f"0 0 {_WIDTH} {height}", role="img", class_="timeline"),
    )  # fmt: skip


def _x(value: float, reach: float) -> float:
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return round(middle + (middle - _LEFT) * value / reach, 1)
