"""A fleet report as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.fleet.order_statistics import PROBABILITIES, label, least_size
from tare.fleet.quantiles import Fleet, amount_of, programs
from tare.lenses import load
from tare.reports.table import Column, table
from tare.reports.text_parts import wrapped
from tare.text.units import human_bytes, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.fleet.order_statistics import Quantile
    from tare.fleet.places import Place
    from tare.fleet.quantiles import Build, Figure
    from tare.fleet.store import Store
    from tare.text.terminal import Style

_TREND = 4  # builds whose medians are shown beside the newest
WORST = 5
MOMENTS = {"peak_bytes": "at the peak", "end_bytes": "at the end", "total_bytes": "in all"}


def lines(store: Store, limit: int | None, style: Style, width: int) -> Iterator[str]:
    entries = store.entries
    machines = len({entry["machine"] for entry in entries})
    names = programs(store)
    yield style(f"{plural(len(entries), 'recording')} on {plural(machines, 'machine')}: {store.path}", "bold")
    yield from (f"note: {note}" for note in notes_of(store))
    for name in names:
        yield ""
        yield from _program(Fleet(store, name), limit, style, width)


def notes_of(store: Store) -> Iterator[str]:
    sampled = sum(1 for entry in store.entries if entry["sample_bytes"])
    if sampled:
        yield f"{plural(sampled, 'recording is a sample', 'recordings are samples')}: their bytes are estimates"


def _program(fleet: Fleet, limit: int | None, style: Style, width: int) -> Iterator[str]:
    builds = fleet.builds
    newest = builds[-1]
    yield style(f"{fleet.program}: {plural(len(builds), 'build')}, oldest first", "bold")
    rows = []
    for build in builds:
        rows.append([build.name, str(build.recordings), str(build.machines), "gross", *cells(build.gross, builds)])
        rows.append(["", "", "", "tare", *cells(build.tare, builds)])
    heads = [
        Column("build", "left", keep=True),
        Column("recordings"),
        Column("machines"),
        Column("", "left", keep=True),
    ]
    yield from table([*heads, *_heads(builds)], rows, width)
    for line in refused(builds):
        yield from wrapped(line, width)
    every = fleet.lenses()
    yield ""
    yield style(f"lenses of build {newest.name}", "bold")
    rows = [
        [
            each.lens,
            MOMENTS[amount_of(load(each.lens))],
            percent(each.found, each.recordings, 0),
            *cells(each.quantiles, builds),
            trend(each, every, builds),
        ]
        for each in every
        if each.build == newest.name
    ]
    yield from table(
        [
            Column("lens", "left", keep=True),
            Column("bytes", "left"),
            Column("found in"),
            *_heads(builds),
            Column(trend_head(builds), "left"),
        ],
        rows,
        width,
    )
    sites = fleet.sites(limit)
    if sites:
        places = fleet.places([each.site or 0 for each in sites])
        yield ""
        yield style("findings at sites, by their mean in this build", "bold")
        yield from _sites(sites, places, builds, width)
    yield ""
    yield style("recordings with most tare", "bold")
    yield from table(
        [Column("tare", keep=True), Column("gross"), Column("build", "left"), Column("machine", "left"), Column("recording", "left", keep=True)],
        [[human_bytes(w.tare), human_bytes(w.gross), w.build, w.machine, w.path] for w in fleet.worst(WORST)],
        width,
    )  # fmt: skip


def _sites(sites: Sequence[Figure], places: dict[int, Place], builds: Sequence[Build], width: int) -> Iterator[str]:
    newest = builds[-1].name
    now = {(each.lens, each.site): each for each in sites if each.build == newest}
    rows = []
    for lens, site in dict.fromkeys((each.lens, each.site) for each in sites):
        place = places.get(site or 0)
        name = f"{place.function} ({place.place})" if place and place.place else place.function if place else "?"
        each = now.get((lens, site))
        if each is None:
            rows.append([lens, "gone", *[""] * len(_heads(builds)), "", name])
            continue
        share = percent(each.found, each.recordings, 0)
        rows.append([lens, share, *cells(each.quantiles, builds), trend(each, sites, builds), name])
    columns = [
        Column("lens", "left", keep=True), Column("found in", keep=True), *_heads(builds), Column(trend_head(builds), "left"),
        Column("site", "left", least=24),
    ]  # fmt: skip
    yield from table(columns, rows, width)


def shown_quantiles(builds: Sequence[Build]) -> list[float]:
    """Quantiles that some build has recordings enough for."""
    return [p for p in PROBABILITIES if max(build.recordings for build in builds) >= least_size(p)]


def _heads(builds: Sequence[Build]) -> list[Column]:
    return [Column(f"{label(p)} [95 % interval]", keep=p == PROBABILITIES[0]) for p in shown_quantiles(builds)]


def cells(quantiles: Sequence[Quantile], builds: Sequence[Build]) -> list[str]:
    shown = shown_quantiles(builds)
    return [cell(each) for p, each in zip(PROBABILITIES, quantiles, strict=True) if p in shown]


def cell(quantile: Quantile) -> str:
    if quantile.value is None:
        return "-"
    low, high = human_bytes(quantile.low or 0), human_bytes(quantile.high or 0)
    value = human_bytes(quantile.value)
    return value if low == high == value else f"{value} [{low}, {high}]"


def refused(builds: Sequence[Build]) -> Iterator[str]:
    """Why a cell has a dash."""
    for p in PROBABILITIES:
        few = [build for build in builds if build.recordings < least_size(p)]
        if few:
            counts = ", ".join(f"{build.name} has {build.recordings}" for build in few[-3:])
            more = f", and {len(few) - 3} older builds have too few" if len(few) > 3 else ""
            yield f"{label(p)} isn't shown below {least_size(p)} recordings, because it has no 95 % interval there: {counts}{more}"


def trend_head(builds: Sequence[Build]) -> str:
    return "P50 of the last builds" if len(builds) > 1 else ""


def trend(figure: Figure, every: Sequence[Figure], builds: Sequence[Build]) -> str:
    if len(builds) < 2:
        return ""
    of = {e.build: e for e in every if (e.lens, e.site) == (figure.lens, figure.site)}
    medians = []
    for build in builds[-_TREND:]:
        median = of[build.name].quantiles[0].value if build.name in of else 0.0
        medians.append("-" if median is None else human_bytes(median))
    return " -> ".join(medians)


def as_json(store: Store) -> dict[str, Any]:
    return {
        "recordings": len(store.entries),
        "programs": [_program_json(Fleet(store, name)) for name in programs(store)],
    }


def _program_json(fleet: Fleet) -> dict[str, Any]:
    sites = fleet.sites(None)
    places = fleet.places(sorted({each.site or 0 for each in sites}))
    return {
        "program": fleet.program,
        "builds": [
            {
                "build": build.name,
                "recordings": build.recordings,
                "machines": build.machines,
                "started_ns": build.started_ns,
                "gross_bytes": _quantiles(build.gross),
                "tare_bytes": _quantiles(build.tare),
                "refused": {
                    label(p): f"needs {least_size(p)} recordings"
                    for p in PROBABILITIES
                    if build.recordings < least_size(p)
                },
            }
            for build in fleet.builds
        ],
        "lenses": [_figure(each) for each in fleet.lenses()],
        "sites": [
            _figure(each) | {"site": each.site} | (places[each.site or 0]._asdict() if each.site in places else {})
            for each in sites
        ],
        "worst": [each._asdict() for each in fleet.worst(WORST)],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "build": figure.build,
        "lens": figure.lens,
        "recordings": figure.recordings,
        "found_in": figure.found,
        "mean_bytes": round(figure.mean),
        "bytes": _quantiles(figure.quantiles),
    }


def _quantiles(quantiles: Sequence[Quantile]) -> dict[str, Any]:
    return {
        label(p): None if each.value is None else {name: round(v) for name, v in each._asdict().items()}
        for p, each in zip(PROBABILITIES, quantiles, strict=True)
    }
