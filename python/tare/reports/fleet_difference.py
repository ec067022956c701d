"""A comparison of two groups of recordings as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.fleet.comparison import ENOUGH_UNITS, RATE
from tare.fleet.order_statistics import PROBABILITIES, label, least_size
from tare.reports.table import Column, table
from tare.reports.text_parts import wrapped
from tare.text.units import human_bytes, human_count, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.fleet.comparison import Comparison, SiteShift
    from tare.fleet.resampling import Shift, Side
    from tare.text.terminal import Style

_CALLERS = 4  # frames that distinguish sites of one function, as far as the line has room
_WORDS = {
    "gross": "gross bytes at the peak",
    "end": "gross bytes at the end",
    "tare": "tare at the peak",
    "calls": "allocations",
}


def lines(result: Comparison, measure: str, unit: str, style: Style, width: int) -> Iterator[str]:
    yield style(headline(result, unit), "bold")
    for note in notes(result, unit):
        yield from wrapped(note, width)
    rows = [
        [f"{name} {label(p)}", human_bytes(each.before), human_bytes(each.after), change(each, "bytes")]
        for name, of in result.totals.items()
        for p, each in of.items()
    ]
    if rows:
        yield ""
        heads = [
            Column("of a recording", "left", keep=True),
            Column("before"),
            Column("after"),
            Column("change [95 % interval]", keep=True),
        ]
        yield from table(heads, rows, width)
    yield ""
    first, *rest = findings(result, measure, unit)
    yield style(first, "bold")
    yield from rest
    if not result.sites:
        return
    yield ""
    shown = list(result.sites[0].quantiles)
    columns = [Column("", "left", keep=True), Column("mean before"), Column("change of the mean [95 %]", keep=True)]
    columns += [Column(f"change of {label(p)} [95 %]") for p in shown]
    columns += [Column("chance"), Column("site", "left", least=24)]
    kind = kind_of(measure)
    yield from table(columns, [_row(each, shown, kind) for each in result.sites], width)
    if result.found > len(result.sites):
        yield f"and {result.found - len(result.sites)} more (-n all)"


def headline(result: Comparison, unit: str) -> str:
    before, after = (_side(side, unit) for side in (result.before, result.after))
    return f"{result.program}: {before} before, {after} after"


def notes(result: Comparison, unit: str) -> Iterator[str]:
    yield f"Intervals (95 %) are of 1,000 draws of {unit}s. Of the named sites, at most {RATE:.0%} are expected to be chance."
    if result.shared:
        yield f"{plural(result.shared, unit)} of both sides are compared with themselves."
    if result.has_few_units:
        yield (
            f"With fewer than {ENOUGH_UNITS} {unit}s on a side, sites that grew by 5 % are often missed, and sites that differ by"
            f" chance are named more often: compare more {unit}s."
        )
    for p in PROBABILITIES:
        least = min(result.before.recordings, result.after.recordings)
        if least < least_size(p):
            yield f"{label(p)} isn't shown below {least_size(p)} recordings on each side: the smaller side has {least}."


def findings(result: Comparison, measure: str, unit: str) -> Iterator[str]:
    """How many sites changed, and how many could not be compared."""
    yield f"{plural(result.found, 'site')} of {result.tested} changed ({_WORDS[measure]})"
    if result.rare:
        yield f"{plural(result.rare, 'site is', 'sites are')} in too few {unit}s to be tested"
    old, new = (percent(share, 1.0) for share in result.unmatched)
    yield f"{old} of the sum before and {new} of the sum after are at sites that the other side doesn't have"


def kind_of(measure: str) -> str:
    return "calls" if measure == "calls" else "bytes"


def _side(side: Side, unit: str) -> str:
    of = f" on {plural(side.units, 'machine')}" if unit == "machine" else ""
    return f"{plural(side.recordings, 'recording')}{of}"


def _row(site: SiteShift, shown: list[float], kind: str) -> list[str]:
    name = f"{site.function} ({site.place})" if site.place else site.function
    callers = [line.rpartition(" (")[0] or line for line in site.stack.split("\n")[1:_CALLERS]]
    name = " < ".join([name, *callers])
    moved = f"{moved_words(site)}: " if site.partner else ""
    return [
        site.kind,
        amount(site.mean.before, kind),
        change(site.mean, kind),
        *(change(site.quantiles[p], kind) for p in shown),
        f"{site.probability:.1g}",
        moved + name,
    ]


def moved_words(site: SiteShift) -> str:
    return f"moved {'from' if site.mean.change > 0 else 'to'} {site.partner}"


def amount(value: float, kind: str) -> str:
    return human_bytes(value) if kind == "bytes" else human_count(value)


def change(each: Shift, kind: str) -> str:
    if each.change == each.low == each.high == 0:
        return "0"
    values = [f"{'+' if value > 0 else ''}{amount(value, kind)}" for value in (each.change, each.low, each.high)]
    return f"{values[0]} [{values[1]}, {values[2]}]"


def as_json(result: Comparison, measure: str) -> dict[str, Any]:
    return {
        "program": result.program,
        "measure": measure,
        "before": {"recordings": result.before.recordings, "units": result.before.units},
        "after": {"recordings": result.after.recordings, "units": result.after.units},
        "shared_units": result.shared,
        "totals": {name: {label(p): _shift(each) for p, each in of.items()} for name, of in result.totals.items()},
        "tested_sites": result.tested,
        "rare_sites": result.rare,
        "false_discovery_rate": RATE,
        "has_few_units": result.has_few_units,
        "unmatched_share": {"before": round(result.unmatched[0], 6), "after": round(result.unmatched[1], 6)},
        "changed_sites": [
            {
                "site": each.site,
                "function": each.function,
                "place": each.place,
                "stack": each.stack.split("\n"),
                "kind": each.kind,
                "partner": each.partner,
                "probability": float(f"{each.probability:.6g}"),  # engines differ in the last digits
                "mean": _shift(each.mean),
                "quantiles": {label(p): _shift(of) for p, of in each.quantiles.items()},
            }
            for each in result.sites
        ],
    }


def _shift(each: Shift) -> dict[str, float]:
    return {name: round(value, 1) for name, value in (each._asdict() | {"change": each.change}).items()}
