"""Prices of calls, copies and page faults: of the run where calls were timed, else those of a bench."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.lenses.call_price import CALLOC_NS, FREE_NS, LEAST_TIMED, MALLOC_NS, per_call
from tare.lenses.saving import Timed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.source.database import TableStore

# Medians of `bench/worth.py`: bench/RESULTS.md has machine and date. memcpy of 1 MiB, the first write to a page of a new mapping, the release of
# such a page by munmap or at the exit, and mmap with munmap of one page that was never written.
COPY_NS_A_BYTE = 0.018
PAGE_FAULT_NS = 1300.0
PAGE_RELEASE_NS = 290.0
PAGE_NS = PAGE_FAULT_NS + PAGE_RELEASE_NS
PAGE_BYTES = 4096
MAP_NS = 3500.0


class Price(NamedTuple):
    """Of one allocation with its free."""

    allocation_ns: float
    free_ns: float
    source: str  # where it is from, in words


class Prices:
    """Of the calls of each site, by its id or its row."""

    def __init__(self, database: TableStore) -> None:
        self._database = database
        self._found: dict[str, tuple[Mapping[int | None, Price], Price]] = {}

    def of(self, site: int | None, by: str, timed: Timed | None = None) -> Price:
        """`timed`: sums of the timed calls, where the caller has them."""
        if by not in self._found:
            self._found[by] = self._read(by)
        of_sites, mean = self._found[by]
        known = of_sites.get(site, mean)
        if timed is None:
            return known
        return _price(timed, 0, "timed calls of this site", known)

    def _read(self, by: str) -> tuple[Mapping[int | None, Price], Price]:
        """A site without enough timed calls has the mean of the calls of its kind: calloc's, or all others'."""
        database = self._database
        database.use("call_costs", "sites", "stack_sites", "site_sizes")
        rows = database.rows(
            f"""
            with zeroing as (select distinct stack_id from site_sizes where api = 'calloc')
            select t.{by}, case when z.stack_id is null then 0 else 1 end,
                   sum(c.calls), sum(c.winsorized_ns), sum(c.free_calls), sum(c.winsorized_free_ns)
            from call_costs c join stack_sites s on s.stack_id = c.stack_id join sites t on t.site_id = s.site_id
            left join zeroing z on z.stack_id = c.stack_id group by 1, 2
            """
        )
        means = [_mean([Timed(*row[2:]) for row in rows if row[1] == kind], kind) for kind in (0, 1)]
        prices: dict[int | None, Price] = {}
        for site, kind, *sums in rows:
            prices[site] = _price(Timed(*sums), kind, "timed calls of this site", means[kind])
        for (site,) in database.rows(
            f"select distinct t.{by} from site_sizes z join stack_sites s on s.stack_id = z.stack_id"
            " join sites t on t.site_id = s.site_id where z.api = 'calloc'"
        ):
            prices.setdefault(site, means[1])
        return prices, means[0]


_BENCH = "a bench: too few calls of this run were timed"


# A site with few timed calls has no median that caps those behind the recorder's own work. Of a Python script, 8 calls at 8 sites took 183 ns with their
# frees, and `tare prove` measured 17 to 26 ns for each of the 276 thousand blocks that they priced. Of dot, one of 19 frees took 13 us.
def _mean(rows: list[Timed], kind: int) -> Price:
    """Of a kind's calls, at sites where enough were timed."""
    made = [row for row in rows if row.calls >= LEAST_TIMED]
    freed = [row for row in rows if row.free_calls >= LEAST_TIMED]
    timed = Timed(
        sum(row.calls for row in made),
        sum(row.winsorized_ns for row in made),
        sum(row.free_calls for row in freed),
        sum(row.winsorized_free_ns for row in freed),
    )
    least = Price((MALLOC_NS, CALLOC_NS)[kind], FREE_NS, _BENCH)
    return _price(timed, kind, "timed calls of this run on average", least)


def _price(timed: Timed, kind: int, words: str, otherwise: Price) -> Price:
    own = per_call(timed.calls, timed.winsorized_ns, (MALLOC_NS, CALLOC_NS)[kind])
    free_ns = per_call(timed.free_calls, timed.winsorized_free_ns, FREE_NS)
    source = f"{round(timed.calls)} {words}" if own else otherwise.source
    return Price(own or otherwise.allocation_ns, free_ns or otherwise.free_ns, source)
