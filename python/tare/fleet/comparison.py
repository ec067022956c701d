"""Two groups of recordings: the sites that changed, by how much, and if their bytes came or only moved between callers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.errors import USAGE, TareError
from tare.fleet.order_statistics import PROBABILITIES, least_size
from tare.fleet.places import Place, places
from tare.fleet.resampling import Shift, Side, shift, sides_of
from tare.fleet.significance import Group, discoveries, shares, welch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tare.fleet.store import Condition, Store

RATE = 0.03  # of the named sites that may be chance: docs/decisions/0520-tests-weighted-by-bytes.md
LEAST_UNITS = 5  # with four machines a side, no arrangement of ranks is rarer than 1 in 35
# With fewer, a growth of 5 % is often missed: docs/decisions/0523-few-machines-are-compared-with-a-warning.md
ENOUGH_UNITS = 20
# Bytes have moved if the sites that share a function or all callers changed together by at most this share of the site's change.
_MOVED_REST = 0.25
_AT_ONCE = 50  # sites of a statement: of 10,000 recordings, 500,000 rows
_UNNAMED = Place("?", "", "")
COLUMNS: dict[str, str] = {
    "gross": "peak_gross_bytes",
    "end": "end_gross_bytes",
    "tare": "tare_bytes",
    "calls": "calls",
}


class SiteShift(NamedTuple):
    site: int
    function: str
    place: str
    stack: str
    probability: float  # of such a difference by chance
    mean: Shift
    quantiles: dict[float, Shift]
    kind: str  # new, gone, grew, shrank or moved
    partner: str  # moved: the function or caller on the other side


class Comparison(NamedTuple):
    program: str
    before: Side
    after: Side
    shared: int  # units of both sides, which are paired; 0: too few are
    totals: dict[str, dict[float, Shift]]  # gross, tare
    tested: int
    rare: int  # sites in too few machines to be tested
    unmatched: tuple[float, float]  # share of bytes at sites that only one group has
    sites: list[SiteShift]  # found to differ, largest change of the mean first
    found: int

    @property
    def has_few_units(self) -> bool:
        return min(self.before.units, self.after.units) < ENOUGH_UNITS


def compare(
    store: Store, before: Sequence[Condition], after: Sequence[Condition], measure: str, unit: str, limit: int | None
) -> Comparison:
    old, new = _side(store, before, "before"), _side(store, after, "after")
    if both := {e["recording"] for e in old} & {e["recording"] for e in new}:
        raise TareError(
            USAGE, f"fleet diff: {len(both)} recordings fit --before and --after: make the conditions exclusive"
        )
    names = sorted({entry["program"] for entry in (*old, *new)})
    if len(names) > 1:
        raise TareError(
            USAGE, f"fleet diff: the recordings are of {', '.join(names[:5])}: choose one by --where program={names[0]}"
        )
    groups = [{e["recording"]: e["machine"] if unit == "machine" else e["key"] for e in of} for of in (old, new)]
    *sides, shared = sides_of(groups[0], groups[1])
    for name, side in zip(("before", "after"), sides, strict=True):
        if side.units < LEAST_UNITS:
            other = ", or treat recordings as independent by --unit recording" if unit == "machine" else ""
            raise TareError(
                USAGE,
                f"fleet diff: {name} has {side.units} {unit}{'' if side.units == 1 else 's'},"
                f" a comparison needs {LEAST_UNITS} on each side: add recordings of more {unit}s{other}",
            )
    _pick(store, sides, shared)
    return _Comparing(store, COLUMNS[measure], sides[0], sides[1], shared).result(names[0], limit)


def _side(store: Store, conditions: Sequence[Condition], name: str) -> list[dict[str, Any]]:
    found = [entry for entry in store.entries if all(each.fits(entry) for each in conditions)]
    if not found:
        filters = " and ".join(f"{each.name}={each.pattern}" for each in conditions)
        raise TareError(
            USAGE, f"fleet diff: no recording fits --{name} {filters}: tare fleet report {store.path} lists the builds"
        )
    return found


def _pick(store: Store, sides: Sequence[Side], shared: int) -> None:
    """Table `picked`: of each recording its side, its unit, and the recordings of that unit and side. A unit of both sides has one
    number."""
    rows = [
        (r, number, unit if unit < shared or number == 0 else unit + sides[0].units, side.sizes[unit])
        for number, side in enumerate(sides)
        for r, unit in side.unit_of.items()
    ]
    store.table("picked", "recording bigint, side int, unit int, size int", rows)


class _Comparing:
    def __init__(self, store: Store, column: str, before: Side, after: Side, shared: int) -> None:
        self._store = store
        self._column = column
        self._before, self._after = before, after
        self._shared = shared  # units of both sides
        self._probabilities = [p for p in PROBABILITIES if min(before.recordings, after.recordings) >= least_size(p)]

    def result(self, program: str, limit: int | None) -> Comparison:
        rows = self._ranked()
        units = self._before.units + self._after.units
        testable = [site for site, row in rows.items() if row["units"] >= min(LEAST_UNITS, units)]
        probabilities = [self._probability(rows[site]) for site in testable]
        weights = shares([sum(rows[site]["sums"]) for site in testable])  # of both groups, so that they favour neither
        chosen = sorted(
            ((testable[i], probabilities[i]) for i in discoveries(probabilities, RATE, weights)),
            # Engines add up in different orders, so the last digits of a sum differ.
            key=lambda each: (-round(abs(self._change(rows[each[0]])), 3), each[0]),
        )
        names = places(self._store, rows)
        only = [
            sum(row["sums"][side] for row in rows.values() if not row["sums"][1 - side])
            / (sum(row["sums"][side] for row in rows.values()) or 1.0)
            for side in (0, 1)
        ]
        values = self._values([site for site, _ in chosen[:limit]])
        sites = [self._site(site, p, next(values), rows, names) for site, p in chosen[:limit]]
        return Comparison(
            program, self._before, self._after, self._shared, self._totals(), len(testable), len(rows) - len(testable), (only[0], only[1]),
            sites, len(chosen),
        )  # fmt: skip

    def _ranked(self) -> dict[int, dict[str, Any]]:
        """By site: sums of the units' mean ranks, and of bytes. Ranks, because sizes have long tails; a unit has one value a side,
        because its recordings aren't independent. Counted from the rank of a recording without bytes, so that units
        without the site add nothing."""
        all_recordings = self._before.recordings + self._after.recordings
        found: dict[int, dict[str, Any]] = {}
        for site, units, a, aa, b, bb, both_a, both_b, ab, old, new in self._store.rows(
            f"""
            with valued as (
              select s.site, p.side, p.unit, p.size, s.{self._column} as value
              from site_sums s join picked p using (recording) where s.{self._column} > 0
            ),
            ranked as (
              select *, {all_recordings} - count(*) over (partition by site) as zeros,
                     rank() over (partition by site order by value) + (count(*) over (partition by site, value) - 1) / 2e0 as place
              from valued
            ),
            by_side as (
              select site, side, unit, sum(zeros + place - (zeros + 1) / 2e0) / max(size) as mean, sum(value) as value
              from ranked group by site, side, unit
            ),
            by_unit as (
              select site, unit, count(*) as sides, sum(case when side = 0 then mean else 0e0 end) as a,
                     sum(case when side = 1 then mean else 0e0 end) as b, sum(case when side = 0 then value else 0e0 end) as old,
                     sum(case when side = 1 then value else 0e0 end) as new
              from by_side group by site, unit
            )
            select site, sum(sides), sum(a), sum(a * a), sum(b), sum(b * b), sum(case when unit < {self._shared} then a else 0e0 end),
                   sum(case when unit < {self._shared} then b else 0e0 end), sum(a * b), sum(old), sum(new)
            from by_unit group by site order by site
            """
        ):
            covariance = (ab - both_a * both_b / self._shared) / (self._shared - 1) if self._shared else 0.0
            groups = (Group(self._before.units, a, aa), Group(self._after.units, b, bb))
            found[site] = {"units": units, "groups": groups, "covariance": covariance, "sums": (old, new)}
        return found

    def _probability(self, row: Mapping[str, Any]) -> float:
        before, after = row["groups"]
        return welch(before, after, self._shared, row["covariance"])

    def _change(self, row: Mapping[str, Any]) -> float:
        """Of the mean."""
        return float(row["sums"][1] / self._after.recordings - row["sums"][0] / self._before.recordings)

    def _totals(self) -> dict[str, dict[float, Shift]]:
        rows = self._store.rows(
            "select recording, peak_gross_bytes, peak_tare_bytes from recordings where recording in (select recording from picked)"
        )
        values = {"gross": {r: gross for r, gross, _ in rows}, "tare": {r: tare for r, _, tare in rows}}
        return {
            name: {p: shift(self._before, self._after, of, p) for p in self._probabilities}
            for name, of in values.items()
        }

    def _values(self, sites: Sequence[int]) -> Iterator[dict[int, float]]:
        """By recording, for each site. A statement takes several sites: each reads all files of the store."""
        for start in range(0, len(sites), _AT_ONCE):
            some = sites[start : start + _AT_ONCE]
            found: dict[int, dict[int, float]] = {site: {} for site in some}
            for site, recording, value in self._store.rows(
                f"""select site, recording, {self._column} from site_sums where recording in (select recording from picked)
                and site in ({", ".join(map(str, some))}) and {self._column} > 0"""
            ):
                found[site][recording] = value
            yield from found.values()

    def _site(
        self,
        site: int,
        probability: float,
        values: Mapping[int, float],
        rows: Mapping[int, Any],
        names: Mapping[int, Place],
    ) -> SiteShift:
        partner = self._moved(site, rows, names)
        old, new = rows[site]["sums"]
        change = self._change(rows[site])
        kind = "moved" if partner else "new" if not old else "gone" if not new else "grew" if change > 0 else "shrank"
        quantiles = {p: shift(self._before, self._after, values, p) for p in self._probabilities}
        function, place, stack = names.get(site, _UNNAMED)
        mean = shift(self._before, self._after, values)
        return SiteShift(site, function, place, stack, probability, mean, quantiles, kind, partner)

    def _moved(self, site: int, rows: Mapping[int, Any], names: Mapping[int, Place]) -> str:
        """The place where the bytes came from or went to, if the sum over relatives stayed: sites of the same function, whose
        callers differ, or sites of the same callers, whose function differs (renamed or inlined).
        """
        change = self._change(rows[site])
        own = _frames(names.get(site, _UNNAMED).stack)
        if not own:
            return ""
        for part in (slice(0, 1), slice(1, None)):
            domain = own[part]
            if not domain:
                continue
            relatives = {
                other: self._change(row)
                for other, row in rows.items()
                if other in names and _frames(names[other].stack)[part] == domain
            }
            partner = min((o for o in relatives if o != site), key=lambda o: relatives[o] * change, default=None)
            if (
                partner is not None
                and relatives[partner] * change < 0
                and abs(relatives[partner]) >= 0.5 * abs(change)
                and abs(sum(relatives.values())) <= _MOVED_REST * abs(change)
            ):
                other = _frames(names[partner].stack)
                different = next((b for a, b in zip(own, other, strict=False) if a != b), other[-1])
                return different
        return ""


@cache
def _frames(stack: str) -> list[str]:
    """Functions without their places."""
    return [
        line.rpartition(" (")[0] if line.endswith(")") and " (" in line else line for line in stack.split("\n") if line
    ]
