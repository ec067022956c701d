"""Common figures of a store's recordings: quantiles of their totals, lenses and sites, by program and build."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tare import lenses
from tare.fleet.order_statistics import PROBABILITIES, Quantile, Ranks, ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.fleet.store import Store
    from tare.lenses.lens import Lens


class Build(NamedTuple):
    name: str
    recordings: int
    machines: int
    started_ns: int  # of the first recording
    gross: list[Quantile]
    tare: list[Quantile]


class Figure(NamedTuple):
    """A lens, or a lens at a site, in a build. Recordings without a claim count with 0 bytes; those in which the lens didn't
    run don't count."""

    build: str
    lens: str
    site: int | None
    recordings: int
    found: float  # recordings with a finding
    mean: float
    quantiles: list[Quantile]


class Place(NamedTuple):
    function: str
    place: str
    stack: str


class Worst(NamedTuple):
    path: str
    build: str
    machine: str
    tare: float
    gross: float


def amount_of(lens: Lens) -> str:
    """The column of `claims` that stands for a lens: bytes at the exit of leaks, at the peak of bytes that are live, else in all."""
    if lens.unit == "end":
        return "end_bytes"
    return "peak_bytes" if lens.weight == "tare" or lens.unit in ("bytes", "kept") else "total_bytes"


def amounts() -> str:
    """An SQL expression over `claims`."""
    every = " ".join(f"when '{lens.name}' then {amount_of(lens)}" for lens in lenses.load_all())
    return f"(case lens {every} else peak_bytes end)"


class Fleet:
    """The recordings of one program in a store."""

    def __init__(self, store: Store, program: str) -> None:
        self._store = store
        self.program = program
        self._of = "program = '" + program.replace("'", "''") + "'"

    @cached_property
    def builds(self) -> list[Build]:
        """Oldest first."""
        found = self._store.rows(
            f"select build, count(*), count(distinct machine), min(started_ns) from recordings where {self._of}"
            " group by build order by min(started_ns), build"
        )
        totals = {
            column: {
                row[0]: row[-1]
                for row in self._quantiles(
                    f"select build, '' as lens, 0 as site, {column} as value from recordings where {self._of}",
                    {(name, ""): count for name, count, *_ in found},
                )
            }
            for column in ("peak_gross_bytes", "peak_tare_bytes")
        }
        return [
            Build(name, count, machines, start, totals["peak_gross_bytes"][name], totals["peak_tare_bytes"][name])
            for name, count, machines, start in found
        ]

    @cached_property
    def _ran(self) -> dict[tuple[str, str], int]:
        """Recordings in which a lens ran, by build and lens."""
        rows = self._store.rows(
            f"select build, lens, count(*) from (select build, unnest(lenses) as lens from recordings where {self._of}) group by all"
        )
        return {(build, lens): count for build, lens, count in rows}

    def lenses(self) -> list[Figure]:
        """Of each build and lens, in the order of lenses."""
        rows = self._store.rows(
            f"""select build, lens, 0, count(distinct case when shown then recording end), sum(amount)
            from ({self._claims()}) group by build, lens"""
        )
        quantiles = self._quantiles(
            f"select build, lens, 0 as site, sum(amount) as value from ({self._claims()}) group by build, lens, recording",
            self._ran,
        )
        found = self._figures(rows, {row[:3]: row[3] for row in quantiles}, self._ran)
        order = {name: turn for turn, name in enumerate(lenses.NAMES)}
        return [each._replace(site=None) for each in sorted(found, key=lambda each: order.get(each.lens, 99))]

    def sites(self, limit: int | None) -> list[Figure]:
        """Lenses at sites: those that are a finding anywhere, largest mean in the newest build first."""
        newest = self.builds[-1].name
        rows = self._store.rows(
            f"""select build, lens, site, sum(case when shown then 1 else 0 end) as found, sum(amount)
            from ({self._claims()}) group by build, lens, site"""
        )
        shown = {(lens, site) for _, lens, site, found, _ in rows if found}
        means = {
            (lens, site): total / self._ran[(build, lens)] for build, lens, site, _, total in rows if build == newest
        }
        chosen = sorted(shown, key=lambda each: (-means.get(each, 0.0), each))[:limit]
        return self._chosen_sites(chosen, rows)

    def _chosen_sites(self, chosen: Sequence[tuple[str, int]], rows: Sequence[Any]) -> list[Figure]:
        if not chosen:
            return []
        connection = self._store.connection
        connection.execute("create or replace temp table chosen (lens varchar, site bigint)")
        with connection.appender("chosen") as appender:
            appender.append_rows(chosen)
        quantiles = self._quantiles(
            f"select build, c.lens, c.site, amount as value from ({self._claims()}) c semi join chosen h on h.lens = c.lens and h.site = c.site",
            self._ran,
        )
        wanted = set(chosen)
        found = self._figures(
            [row for row in rows if (row[1], row[2]) in wanted], {row[:3]: row[3] for row in quantiles}, self._ran
        )
        place = {each: turn for turn, each in enumerate(chosen)}
        return sorted(found, key=lambda each: place[each.lens, each.site or 0])

    def worst(self, limit: int) -> list[Worst]:
        """The recordings with most tare."""
        return [
            Worst(*row)
            for row in self._store.rows(
                f"select path, build, machine, peak_tare_bytes, peak_gross_bytes from recordings where {self._of}"
                f" order by peak_tare_bytes desc, path limit {limit}"
            )
        ]

    def places(self, sites: Sequence[int]) -> dict[int, Place]:
        """Names of sites; the newest build's."""
        if not sites:
            return {}
        listed = ",".join(map(str, sites))
        rows = self._store.rows(
            f"""select site, max_by(function, started_ns), max_by(place, started_ns), max_by(stack, started_ns) from sites
            join (select build_id, max(started_ns) as started_ns from recordings group by build_id) using (build_id)
            where site in ({listed}) group by site"""
        )
        return {site: Place(*names) for site, *names in rows}

    def _claims(self) -> str:
        return f"select c.*, r.build, {amounts()} as amount from claims c join recordings r using (recording) where {self._of}"

    def _figures(
        self, rows: Sequence[Any], quantiles: dict[Any, list[Quantile]], ran: dict[tuple[str, str], int]
    ) -> list[Figure]:
        return [
            Figure(
                build, lens, site, ran[(build, lens)], found, total / ran[(build, lens)], quantiles[(build, lens, site)]
            )
            for build, lens, site, found, total in rows
        ]

    def _quantiles(self, values: str, sizes: dict[tuple[str, str], int]) -> list[tuple[str, str, int, list[Quantile]]]:
        """By build, lens and site of a query's `value`. A recording without a row has 0, and is below all that have one."""
        connection = self._store.connection
        wanted = {group: [ranks(size, p) for p in PROBABILITIES] for group, size in sizes.items()}
        columns = ", ".join(f"middle{i} bigint, low{i} bigint, high{i} bigint" for i in range(len(PROBABILITIES)))
        connection.execute(f"create or replace temp table wanted (build varchar, lens varchar, size bigint, {columns})")
        with connection.appender("wanted") as appender:
            appender.append_rows(
                [(*group, sizes[group], *(x for each in of for x in each)) for group, of in wanted.items()]
            )
        taken = ", ".join(
            f"coalesce(max(value) filter (rank = {name}{i}), 0)"
            for i in range(len(PROBABILITIES))
            for name in ("middle", "low", "high")
        )
        rows = self._store.rows(
            f"""
            with valued as (select * from ({values})),
            ranked as (
              select v.*, w.* exclude (build, lens), row_number() over same + w.size - count(*) over (partition by v.build, v.lens, v.site) as rank
              from valued v join wanted w on w.build = v.build and w.lens = v.lens
              window same as (partition by v.build, v.lens, v.site order by v.value)
            )
            select build, lens, site, {taken} from ranked group by build, lens, site
            """
        )
        return [(build, lens, site, _read(wanted[(build, lens)], taken)) for build, lens, site, *taken in rows]


def _read(wanted: Sequence[Ranks], values: Sequence[float]) -> list[Quantile]:
    triples = [values[at : at + 3] for at in range(0, len(values), 3)]
    return [
        Quantile(None, None, None) if each.low is None else Quantile(*triple)
        for each, triple in zip(wanted, triples, strict=True)
    ]


def programs(store: Store) -> list[str]:
    """Those with most recordings first."""
    return [
        row[0] for row in store.rows("select program from recordings group by program order by count(*) desc, program")
    ]
