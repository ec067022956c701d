"""Common figures of a store's recordings: quantiles of their totals, lenses and sites, by program and build."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tare import lenses
from tare.fleet.order_statistics import PROBABILITIES, Quantile, Ranks, ranks
from tare.fleet.places import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.fleet.places import Place
    from tare.fleet.store import Store
    from tare.lenses.lens import Lens


Group = tuple[str, str, int]  # build, lens, site


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
        self._of = f"program = {store.literal(program)}"

    @cached_property
    def builds(self) -> list[Build]:
        """Oldest first."""
        found = self._store.rows(
            f"select build, count(*), count(distinct machine), min(started_ns) from recordings where {self._of}"
            " group by build order by min(started_ns), build"
        )
        gross, tare = (
            self._quantiles(
                f"select build, '' as lens, 0 as site, {column} as value from recordings where {self._of}",
                {(name, ""): count for name, count, *_ in found},
                {(name, "", 0) for name, *_ in found},
            )
            for column in ("peak_gross_bytes", "peak_tare_bytes")
        )
        return [
            Build(name, count, machines, start, gross[name, "", 0], tare[name, "", 0])
            for name, count, machines, start in found
        ]

    @cached_property
    def _turns(self) -> dict[str, int]:
        """Places of builds, oldest first."""
        return {build.name: turn for turn, build in enumerate(self.builds)}

    @cached_property
    def _ran(self) -> dict[tuple[str, str], int]:
        """Recordings in which a lens ran, by build and lens."""
        return Counter(
            (entry["build"], lens)
            for entry in self._store.entries
            if entry["program"] == self.program
            for lens in entry["lenses"]
        )

    def lenses(self) -> list[Figure]:
        """Of each build and lens, in the order of lenses."""
        rows = self._store.rows(
            f"""select build, lens, 0, count(distinct case when shown then recording end), sum(amount)
            from ({self._claims()}) group by build, lens"""
        )
        quantiles = self._quantiles(
            f"select build, lens, 0 as site, sum(amount) as value from ({self._claims()}) group by build, lens, recording",
            self._ran,
            {row[:3] for row in rows},
        )
        found = self._figures(rows, quantiles)
        order = {name: turn for turn, name in enumerate(lenses.NAMES)}
        found.sort(key=lambda each: (order.get(each.lens, 99), self._turns[each.build]))
        return [each._replace(site=None) for each in found]

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
        # Engines add up in different orders, so the last digits of a sum differ.
        chosen = sorted(shown, key=lambda each: (-round(means.get(each, 0.0), 3), each))[:limit]
        return self._chosen_sites(chosen, rows)

    def _chosen_sites(self, chosen: Sequence[tuple[str, int]], rows: Sequence[Any]) -> list[Figure]:
        if not chosen:
            return []
        self._store.table("chosen", "lens varchar, site bigint", chosen)
        wanted = set(chosen)
        rows = [row for row in rows if (row[1], row[2]) in wanted]
        quantiles = self._quantiles(
            f"select build, c.lens, c.site, amount as value from ({self._claims()}) c join chosen h on h.lens = c.lens and h.site = c.site",
            self._ran,
            {row[:3] for row in rows},
        )
        found = self._figures(rows, quantiles)
        place = {each: turn for turn, each in enumerate(chosen)}
        return sorted(found, key=lambda each: (place[each.lens, each.site or 0], self._turns[each.build]))

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
        return places(self._store, sites)

    def _claims(self) -> str:
        return (
            f"select c.recording, c.lens, c.site, c.shown, r.build, {amounts()} as amount"
            f" from claims c join recordings r on r.recording = c.recording where {self._of}"
        )

    def _figures(self, rows: Sequence[Any], quantiles: dict[Group, list[Quantile]]) -> list[Figure]:
        return [
            Figure(
                build, lens, site, ran := self._ran[(build, lens)], found, total / ran, quantiles[(build, lens, site)]
            )
            for build, lens, site, found, total in rows
        ]

    def _quantiles(
        self, values: str, sizes: dict[tuple[str, str], int], groups: set[Group]
    ) -> dict[Group, list[Quantile]]:
        """Of a query's `value`, by its build, lens and site. A recording without a row has 0, and is below all that have one: ranks
        are counted from the largest value. Rows are ranked first and joined with the nine wanted ranks then, so that the
        sort has four columns: 20 million rows fit into 2 GiB."""
        wanted = {group: [ranks(size, p) for p in PROBABILITIES] for group, size in sizes.items()}
        self._store.table(
            "wanted",
            "build varchar, lens varchar, figure int, place bigint",
            [
                (*group, number, sizes[group] - rank + 1)
                for group, of in wanted.items()
                for number, rank in enumerate(rank for each in of for rank in each)
                if rank
            ],
        )
        found: dict[Group, list[float]] = {group: [0.0] * 3 * len(PROBABILITIES) for group in groups}
        for *group, figure, value in self._store.rows(
            f"""
            with ranked as (
              select build, lens, site, value, row_number() over (partition by build, lens, site order by value desc) as place
              from ({values}) valued
            )
            select r.build, r.lens, r.site, w.figure, r.value
            from ranked r join wanted w on w.build = r.build and w.lens = r.lens and w.place = r.place
            """
        ):
            found[tuple(group)][figure] = value
        return {group: _read(wanted[group[:2]], figures) for group, figures in found.items()}


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
