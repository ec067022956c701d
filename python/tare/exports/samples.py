"""Samples, from which all profiles are made: the sums of each stack and size of block, in batches.

They lie in table `export_samples` of the recording's database, which spills to disk, so that memory doesn't grow with them.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from itertools import compress
from operator import or_
from typing import TYPE_CHECKING, Any

from tare import lenses
from tare.analysis import records
from tare.analysis.stacks import Stacks
from tare.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection

    Columns = dict[str, array[int]]

_BATCH = 8192
_LISTED_SITES = 1000  # in one statement


# The columns that have a value a profile; in the order that pprof's heap profiles have, tare behind them.
MEASURES = {
    "alloc_objects": ("total_blocks", "count"),
    "alloc_space": ("total_bytes", "bytes"),
    "inuse_objects": ("live_blocks", "count"),
    "inuse_space": ("live_bytes", "bytes"),
    "tare_space": ("tare_bytes", "bytes"),
}
_SUMS = ("total_blocks", "total_bytes", "live_blocks", "live_bytes", "end_blocks", "end_bytes", "tare_bytes")


class Samples:
    def __init__(
        self,
        recording: Recording,
        selection: Selection,
        *,
        with_tare: bool,
        with_threads: bool = False,
        by_size: bool = False,
        with_lifetimes: bool = False,
    ) -> None:
        """`with_tare`: runs the lenses, which takes longer than all else; without them tare_bytes are 0. `with_threads`: for
        of_measure_by_thread(). `by_size`: for by_size(). `with_lifetimes`: `columns` has lifetime_us.
        """
        self._database = recording.database
        self._with_lifetimes = with_lifetimes
        self._samples: Columns | None = None
        if with_threads or by_size:
            self._samples = _samples_by_core(recording, selection, with_tare, with_threads, by_size)
            if self._samples is not None:
                self.stacks = Stacks(recording, list(dict.fromkeys(self._samples["stack_id"])))
                return
        elif (sums := _by_core(recording, selection, with_tare, with_lifetimes)) is not None:
            self.columns = sums
            is_shown = map(or_, sums["total_blocks"], map(or_, sums["live_blocks"], sums["tare_bytes"]))
            self.stacks = Stacks(recording, list(compress(sums["stack_id"], is_shown)))
            return
        self._database.use("site_sizes")
        counted, sole = _by_thread(recording) if with_threads else (_of_thread("null"), _the_one("null"))
        with Progress("adding up"):
            matching = self._matching(recording, selection) if selection.filters else ""
            tare = _tare(recording, selection) if with_tare and selection.claimed else "select 0, 0, 0.0 where false"
            gross = "(usable_bytes + header_bytes)"
            # Weighted blocks of a sampled recording are rounded once, for each stack, size and thread.
            summed = ", ".join(f"cast(round_even(coalesce(sum({name}), 0), 0) as bigint) as {name}" for name in _SUMS)
            self._database.run(
                f"""
                create or replace table export_samples as
                with granted(stack_id, usable_bytes, tare_bytes) as ({tare}),
                counted as ({counted}),
                every as (
                  select stack_id, usable_bytes, thread, total_blocks, total_blocks * {gross} as total_bytes,
                         live_blocks, live_blocks * {gross} as live_bytes,
                         end_blocks, end_blocks * {gross} as end_bytes, 0.0 as tare_bytes, lifetime_ns
                  from counted
                  union all by name
                  {sole}
                )
                select stack_id, usable_bytes, thread, {summed},
                       cast(coalesce(sum(lifetime_ns), 0) as hugeint) as lifetime_ns
                from every {matching} group by stack_id, usable_bytes, thread
                """.replace("BLOCKS", selection.blocks)
            )
        shown = " or ".join(f"{column} <> 0" for column, _ in MEASURES.values())
        self.stacks = Stacks(recording, self._ids(shown))

    @cached_property
    def columns(self) -> Columns:
        """Sums of each stack, 8 bytes a stack each, and `stack_id`, which ascends. Lifetimes are in whole microseconds."""
        names = (*_SUMS, "lifetime_us") if self._with_lifetimes else _SUMS
        lifetime = "cast(least(sum(lifetime_ns), 9000000000000000000) as bigint) // 1000"
        sums = [lifetime if name == "lifetime_us" else f"cast(sum({name}) as bigint)" for name in names]
        found = {name: array("q") for name in ("stack_id", *names)}
        query = f"select stack_id, {', '.join(sums)} from export_samples group by stack_id order by stack_id"
        for batch in self._database.batches(query, _BATCH):
            for values, added in zip(found.values(), zip(*batch, strict=True), strict=True):
                values.extend(added)
        return found

    def _matching(self, recording: Recording, selection: Selection) -> str:
        """Filters are about sites, as the report's are: a condition for the stacks of those that match."""
        database = self._database
        database.use("sites", "stack_sites")
        used = "select distinct s.site_id from site_sizes z join stack_sites s on s.stack_id = z.stack_id"
        sites = recording.site_stacks([site for (site,) in database.rows(used)])
        found = sorted(site for site, stack in sites.items() if records.matches(stack, selection.filters))
        database.run("create or replace table export_sites (site_id bigint)")
        for at in range(0, len(found), _LISTED_SITES):
            listed = ", ".join(f"({site})" for site in found[at : at + _LISTED_SITES])
            database.run(f"insert into export_sites values {listed}")
        return (
            "where stack_id in (select stack_id from stack_sites where site_id in (select site_id from export_sites))"
        )

    def _ids(self, condition: str) -> list[int]:
        query = f"select distinct stack_id from export_samples where {condition} order by stack_id"
        return [stack_id for (stack_id,) in self._database.rows(query)]

    def by_size(self) -> Iterator[Columns]:
        """Batches of columns, ordered by stack, size and thread: `stack_id`, `usable_bytes`, `thread` (its number, as in table blocks; -1:
        not known) and the sums of the measures. A million objects would take 2 s.
        """
        names = ("stack_id", *(column for column, _ in MEASURES.values()), "usable_bytes", "thread")
        if self._samples is not None:
            with Progress("writing") as progress:
                rows = len(self._samples["stack_id"])
                for at in range(0, rows, _BATCH):
                    yield {name: self._samples[name][at : at + _BATCH] for name in names}
                    progress.update(at / rows)
            return
        shown = " or ".join(f"{column} <> 0" for column, _ in MEASURES.values())
        for batch in self._batches(
            f"select {', '.join(names[:-1])}, coalesce(thread, -1) from export_samples where {shown}"
            " order by stack_id, usable_bytes, thread"
        ):
            yield {name: array("q", values) for name, values in zip(names, zip(*batch, strict=True), strict=True)}

    def of_measure(self, measure: str) -> tuple[list[int], list[int]]:
        """Stacks in ascending order, and their amounts, which aren't 0."""
        amounts = self.columns[MEASURES[measure][0]]
        return list(compress(self.columns["stack_id"], amounts)), list(filter(None, amounts))

    def of_measure_by_thread(self, measure: str) -> Iterator[tuple[list[int], list[int], list[int]]]:
        """The same by stack and thread (-1: not known)."""
        column, _ = MEASURES[measure]
        if self._samples is not None:
            amounts = self._samples[column]
            stacks, threads = (compress(self._samples[name], amounts) for name in ("stack_id", "thread"))
            yield list(stacks), list(threads), list(filter(None, amounts))
            return
        query = (
            f"select stack_id, coalesce(thread, -1), cast(sum({column}) as bigint) from export_samples group by stack_id, thread"
            f" having sum({column}) <> 0 order by stack_id, thread"
        )
        for batch in self._batches(query):
            columns = zip(*batch, strict=True)
            yield list(next(columns)), list(next(columns)), list(next(columns))

    def sum_of(self, column: str) -> int:
        return sum(self.columns[column])

    def _batches(self, query: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        rows = max(1, self._database.row("select count(*) from export_samples")[0])
        done = 0
        with Progress("writing") as progress:
            for batch in self._database.batches(query, _BATCH):
                yield batch
                done += len(batch)
                progress.update(min(1.0, done / rows))


def _tare_by_size(recording: Recording, selection: Selection, with_tare: bool) -> str | None:
    """A query for stack, usable size and bytes of all claims; None: there are none."""
    if not with_tare or not selection.claimed:
        return None
    return (
        "select stack_id, usable_bytes, cast(round_even(coalesce(sum(tare_bytes), 0), 0) as bigint) as tare_bytes"
        f" from ({_tare(recording, selection)}) group by stack_id, usable_bytes"
    )


def _samples_by_core(
    recording: Recording, selection: Selection, with_tare: bool, with_threads: bool, by_size: bool
) -> Columns | None:
    """Columns by stack, thread and, if requested, size, without SQL for the blocks; None: the core can't have them."""
    query = _tare_by_size(recording, selection, with_tare)
    if selection.filters or recording.process["missing_facts"] or (query and not by_size):
        return None
    with Progress("adding up"):
        tare = [array("q") for _ in range(3)]
        for batch in recording.database.batches(query, _BATCH) if query else ():
            for values, added in zip(tare, zip(*batch, strict=True), strict=True):
                values.extend(added)
        stacks, sizes, claimed = (values.tobytes() for values in tare)
        sums = recording.source.sample_sums(selection.blocks, with_threads, by_size, (stacks, sizes, claimed))
        return None if sums is None else {name: array("q", numbers) for name, numbers in sums.items()}


def _by_core(recording: Recording, selection: Selection, with_tare: bool, with_lifetimes: bool) -> Columns | None:
    """`Samples.columns` without SQL for the blocks; None: the core can't have them."""
    if selection.filters or recording.process["missing_facts"]:
        return None
    with Progress("adding up"):
        sums = recording.source.stack_sums(selection.blocks, with_lifetimes)
        if sums is None:
            return None
        columns = {name: array("q", numbers) for name, numbers in sums.items()}
        if with_lifetimes:
            columns["lifetime_us"] = array("q", (each // 1000 for each in columns.pop("lifetime_ns")))
        tare: dict[int, int] = {}
        if query := _tare_by_size(recording, selection, with_tare):
            tare = dict(
                recording.database.rows(
                    f"select stack_id, cast(sum(tare_bytes) as bigint) from ({query}) group by stack_id"
                )
            )
            if not tare.keys() <= set(columns["stack_id"]):
                return None
        columns["tare_bytes"] = array("q", (tare.get(stack, 0) for stack in columns["stack_id"]))
        return columns


_COUNTED = "stack_id, usable_bytes, header_bytes"


def _of_thread(number: str) -> str:
    return (
        f"select {_COUNTED}, cast({number} as bigint) as thread, total_blocks, BLOCKS as live_blocks, end_blocks, lifetime_ns"
        " from site_sizes"
    )


def _the_one(number: str) -> str:
    return f"select *, cast({number} as bigint) as thread from granted"


# Lenses claim bytes of stacks. Those of a stack and size that several threads allocated have no thread.
_SOLE = """
select g.*, sole.thread from granted g left join (
  select stack_id, usable_bytes, any_value(thread) as thread from counted group by all
  having count(distinct coalesce(thread, -1)) = 1
) sole using (stack_id, usable_bytes)
"""
# Shapes of pools, and any whose sums over threads weren't those of the shape, have no thread.
_BY_THREAD = f"""
with summed as (
  select size_id, sum(total_blocks) as total, sum(BLOCKS) as live, sum(end_blocks) as ended
  from thread_sizes group by size_id
),
split as (
  select size_id from site_sizes join summed using (size_id) group by size_id
  having count(*) = 1 and sum(total_blocks) = any_value(total) and sum(BLOCKS) = any_value(live)
         and sum(end_blocks) = any_value(ended)
)
select {", ".join(f"z.{name}" for name in _COUNTED.split(", "))}, t.thread, t.total_blocks, t.BLOCKS as live_blocks, t.end_blocks,
       0 as lifetime_ns
from site_sizes z join thread_sizes t using (size_id) where size_id in (from split)
union all
{_of_thread("null")} where size_id not in (from split)
"""


def _by_thread(recording: Recording) -> tuple[str, str]:
    """Queries for the blocks of each stack, size and thread, and for the claims with their thread."""
    threads = recording.process["threads"]
    if not threads:
        return _of_thread("null"), _the_one("null")
    if threads == 1:  # it has number 0; inherited blocks may be of others
        (inherits,) = recording.database.row("select coalesce(max(inherited), 0) <> 0 from site_sizes")
        return (
            (_of_thread("case when inherited = 0 then 0 end"), _SOLE) if inherits else (_of_thread("0"), _the_one("0"))
        )
    recording.database.use("thread_sizes")
    return _BY_THREAD, _SOLE


def _tare(recording: Recording, selection: Selection) -> str:
    """A query for stack, size and bytes of each claim. Claims about a whole stack have size 0."""
    chosen = [lenses.load(name) for name in selection.lenses]
    claims = recording.ledger.claims_of(chosen) if chosen else recording.ledger.grants()
    return (
        f"select coalesce(g.stack_id, z.stack_id) as stack_id, coalesce(z.usable_bytes, 0) as usable_bytes,"
        f" cast(sum(g.{selection.claimed}) as double) as tare_bytes"
        f" from ({claims}) g left join site_sizes z on z.size_id = g.size_id group by all"
    )
