"""A fleet report as a page: builds with their intervals as a chart, lenses, sites, and the recordings to open. It has no script."""

from __future__ import annotations

import shlex
from typing import IO, TYPE_CHECKING

from tare.fleet.order_statistics import PROBABILITIES, label
from tare.fleet.quantiles import Fleet, amount_of, programs
from tare.html.fleet_parts import section, site_cell, wide_table
from tare.html.markup import EMPTY, Markup, element, joined
from tare.html.page import document
from tare.html.timeline import steps
from tare.lenses import load
from tare.reports.fleet_report import MOMENTS, WORST, cells, notes_of, refused, shown_quantiles, trend, trend_head
from tare.text.units import human_bytes, percent, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.fleet.order_statistics import Quantile
    from tare.fleet.places import Place
    from tare.fleet.quantiles import Build, Figure
    from tare.fleet.store import Store

_WIDTH, _HEIGHT = 1000, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 22, 40
_MOST_BUILDS = 20  # drawn


def write(store: Store, out: IO[bytes], rows: int | None) -> None:
    names = programs(store)
    machines = len({entry["machine"] for entry in store.entries})
    notes = [element("li", note) for note in notes_of(store)]
    head = element(
        "header",
        element("p", element("b", "Tare"), " fleet report", class_="brand"),
        element("h1", ", ".join(names)),
        element("p", f"{plural(len(store.entries), 'recording')} on {plural(machines, 'machine')}"),
        element("p", element("code", str(store.path)), class_="command"),
        element("ul", *notes, class_="notes") if notes else "",
    )
    body = joined(head, element("main", *(_program(Fleet(store, name), rows) for name in names)))
    out.write(document(f"{', '.join(names[:3])} - Tare fleet", body, None))


def _program(fleet: Fleet, rows: int | None) -> Markup:
    builds = fleet.builds
    every = fleet.lenses()
    sites = fleet.sites(rows)
    places = fleet.places([each.site or 0 for each in sites])
    return joined(
        _builds(fleet.program, builds),
        _lenses(every, builds),
        _sites(sites, places, builds) if sites else EMPTY,
        _worst(fleet),
    )


def _heads(builds: Sequence[Build]) -> list[str]:
    return [f"{label(p)} [95 % interval]" for p in shown_quantiles(builds)]


def _builds(program: str, builds: Sequence[Build]) -> Markup:
    rows = []
    for build in builds:
        for name, quantiles in (("gross", build.gross), ("tare", build.tare)):
            rows.append(
                element(
                    "tr",
                    element("th", build.name, scope="row"),
                    element("td", str(build.recordings)),
                    element("td", str(build.machines)),
                    element("td", name, class_="text"),
                    *(element("td", cell) for cell in cells(quantiles, builds)),
                )
            )
    drawn = [_chart(f"{name} at the peak by build", builds[-_MOST_BUILDS:], name) for name in ("gross", "tare")]
    return section(
        f"{program}: {plural(len(builds), 'build')}, oldest first",
        *drawn,
        wide_table(["build", "recordings", "machines", "", *_heads(builds)], rows),
        *(element("p", line, class_="note") for line in refused(builds)),
    )


def _chart(title: str, builds: Sequence[Build], name: str) -> Markup:
    """Dots for quantiles, lines for their intervals; the words repeat both."""
    of = [(build, build.gross if name == "gross" else build.tare) for build in builds]
    top = max((each.high or 0.0 for _, quantiles in of for each in quantiles), default=0.0)
    if top <= 0:
        return EMPTY
    top *= 1.05
    room = (_WIDTH - _LEFT - _RIGHT) / len(builds)
    drawn: list[Markup] = []
    for size in steps(top, binary=True):
        height = _y(size, top)
        drawn.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=height, y2=height, class_="grid"))
        drawn.append(element("text", human_bytes(size), x=_LEFT - 8, y=height + 4, text_anchor="end", class_="y"))
    for turn, (build, quantiles) in enumerate(of):
        middle = _LEFT + room * (turn + 0.5)
        drawn.append(element("text", build.name, x=round(middle, 1), y=_HEIGHT - 12, text_anchor="middle"))
        for number, (p, each) in enumerate(zip(PROBABILITIES, quantiles, strict=True)):
            drawn.append(_interval(round(middle + (number - 1) * min(18.0, room / 4), 1), p, each, build, top))
    return element(
        "figure",
        element("figcaption", f"{title}: {', '.join(label(p) for p in PROBABILITIES)} from left to right, with intervals", class_="note"),
        element("svg", element("title", title), *drawn, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", class_="timeline"),
    )  # fmt: skip


def _interval(x: float, probability: float, quantile: Quantile, build: Build, top: float) -> Markup:
    if quantile.value is None:
        return EMPTY
    low, high = quantile.low or 0.0, quantile.high or 0.0
    words = (
        f"{build.name} {label(probability)}: {human_bytes(quantile.value)} [{human_bytes(low)}, {human_bytes(high)}]"
    )
    return element(
        "g",
        element("title", words),
        element("line", x1=x, x2=x, y1=_y(low, top), y2=_y(high, top), class_="curve"),
        element("circle", cx=x, cy=_y(quantile.value, top), r=4, class_="dot"),
    )


def _y(size: float, top: float) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * size / top, 1)


def _lenses(every: Sequence[Figure], builds: Sequence[Build]) -> Markup:
    newest = builds[-1].name
    rows = [
        element(
            "tr",
            element("th", each.lens, scope="row"),
            element("td", MOMENTS[amount_of(load(each.lens))], class_="text"),
            element("td", percent(each.found, each.recordings, 0)),
            *(element("td", cell) for cell in cells(each.quantiles, builds)),
            element("td", trend(each, every, builds), class_="text"),
        )
        for each in every
        if each.build == newest
    ]
    return section(
        f"Lenses of build {newest}",
        wide_table(["lens", "bytes", "found in", *_heads(builds), trend_head(builds)], rows),
    )


def _sites(sites: Sequence[Figure], places: dict[int, Place], builds: Sequence[Build]) -> Markup:
    now = {(each.lens, each.site): each for each in sites if each.build == builds[-1].name}
    rows = []
    for lens, site in dict.fromkeys((each.lens, each.site) for each in sites):
        each = now.get((lens, site))
        amounts = (
            [percent(each.found, each.recordings, 0), *cells(each.quantiles, builds), trend(each, sites, builds)]
            if each
            else ["gone", *[""] * (len(_heads(builds)) + 1)]
        )
        rows.append(
            element(
                "tr",
                element("td", lens, class_="text"),
                *(element("td", cell) for cell in amounts),
                element("th", site_cell(places.get(site or 0)), scope="row"),
            )
        )
    titles = ["lens", "found in", *_heads(builds), trend_head(builds), "site"]
    return section(
        "Findings at sites, by their mean in the newest build", wide_table(titles, rows, "numbers sites changes")
    )


def _worst(fleet: Fleet) -> Markup:
    rows = [
        element(
            "tr",
            element("td", human_bytes(each.tare)),
            element("td", human_bytes(each.gross)),
            element("td", each.build, class_="text"),
            element("td", each.machine, class_="text"),
            element("th", element("code", f"tare report {shlex.quote(each.path)}"), scope="row"),
        )
        for each in fleet.worst(WORST)
    ]
    return section(
        "Recordings with most tare", wide_table(["tare", "gross", "build", "machine", "to open"], rows, "numbers sites")
    )
