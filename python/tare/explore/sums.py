"""Sums by stack of what the reader has chosen: from `site_sizes` at the peak, at the end and over the run, from `lifetimes` elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.explore.choice import Choice, When
from tare.schema.missing import lacks_slop, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording

_COUNTED = {"peak": "peak_blocks", "end": "end_blocks", "total": "total_blocks"}


class Measure(NamedTuple):
    """`each`: the amount of one block; empty: `whole`, the amount of a shape over the run, or the grants of `lens`."""

    key: str
    label: str
    unit: str  # bytes, blocks or byte-seconds
    each: str = ""
    whole: str = ""
    lens: str = ""

    def is_of(self, when: When) -> bool:
        if self.lens:
            return when.moment in ("peak", "end")
        return bool(self.each) or when.moment == "total"


_OF_BLOCKS = (
    Measure("gross", "gross", "bytes", "(usable_bytes + header_bytes)"),
    Measure("requested", "requested", "bytes", "requested_bytes"),
    Measure("slop", "slop", "bytes", "(usable_bytes - requested_bytes)"),
    Measure("blocks", "blocks", "blocks", "1"),
)
_BYTE_SECONDS = Measure("byte-seconds", "byte-seconds", "byte-seconds", whole="byte_ns / 1e9")


def measures(recording: Recording) -> Iterator[Measure]:
    """Without those whose facts an imported file doesn't have."""
    lacking = set(words_of(recording.process["missing_facts"]))
    for each in _OF_BLOCKS:
        if not (each.key == "slop" and lacks_slop(lacking)):
            yield each
    if not lacking & {"order", "times"}:
        yield _BYTE_SECONDS
    totals = [each for each in recording.ledger.tare_totals if round(each.bytes_peak) or round(each.bytes_end)]
    if totals:
        yield Measure("tare", "tare", "bytes", lens="*")
    for lens in totals:
        yield Measure(f"tare:{lens.lens}", f"tare: {lens.lens}", "bytes", lens=lens.lens)


def has_times(recording: Recording) -> bool:
    """False: an import without times. Of a recording in progress nobody walks over the trace."""
    return not {"order", "times"} & set(words_of(recording.process["missing_facts"]))


def by_stack(recording: Recording, choice: Choice, measure: Measure) -> dict[int, float]:
    """Stacks without an amount aren't in it."""
    database = recording.database
    when = choice.when
    module = _of_module(recording, choice.module) if choice.module else ""
    if measure.lens:
        lens = "" if measure.lens == "*" else f" and g.lens = '{measure.lens}'"
        query = (
            f"select z.stack_id, sum(g.bytes_{when.moment}) as amount from ({recording.ledger.grants()}) g"
            f" join site_sizes z on z.size_id = g.size_id where true{lens}{module} group by z.stack_id"
        )
    elif choice.thread is None and when.moment != "range":
        database.use("site_sizes")
        amount = f"{measure.each} * {_COUNTED[when.moment]}" if measure.each else measure.whole
        query = f"select z.stack_id, sum({amount}) as amount from site_sizes z where true{module} group by z.stack_id"
    else:
        database.use("lifetimes", "intervals")
        thread = "" if choice.thread is None else f" and thread = {choice.thread}"
        query = (
            f"select z.stack_id, sum(blocks * {measure.each or 1}) as amount from lifetimes z"
            f" where {condition(range_of(recording, when))}{thread}{module} group by z.stack_id"
        )
    return dict(database.rows(f"select stack_id, amount from ({query}) s where round(amount) <> 0 order by stack_id"))


def range_of(recording: Recording, when: When) -> When:
    """The same as intervals: the peak ends one, unless the recording is sampled and events share its time stamp."""
    if when.moment == "range":
        return when
    last = recording.database.row("select max(interval) from intervals")[0]
    if when.moment == "peak":
        peak_ns = recording.process["peak_time_ns"]
        last = recording.database.row(
            f"select interval from intervals order by abs(end_ns - {peak_ns}), interval limit 1"
        )[0]
    return When("range", "born" if when.moment == "total" else "live", -1, last)


def condition(when: When) -> str:
    """Rows of `lifetimes` that a range has."""
    live = f"(freed_interval is null or freed_interval > {when.end})"
    if when.life == "live":
        return f"(allocated_interval is null or allocated_interval <= {when.end}) and {live}"
    if when.life == "freed":
        return f"freed_interval > {when.begin} and freed_interval <= {when.end}"
    born = f"allocated_interval > {when.begin} and allocated_interval <= {when.end}"
    return f"{born} and {live}" if when.life == "kept" else born


def modules(recording: Recording, choice: Choice, measure: Measure) -> list[tuple[str, float]]:
    """Files of code whose functions allocate, by the amount of the choice without its module."""
    sums = by_stack(recording, choice._replace(module=""), measure)
    recording.database.use("stack_sites", "sites", "locations", "modules")
    found: dict[str, float] = {}
    of = dict(recording.database.rows(f"select x.stack_id, m.path from {_SITE_MODULES}"))
    for stack_id, amount in sums.items():
        if path := of.get(stack_id):
            found[path] = found.get(path, 0.0) + amount
    return sorted(found.items(), key=lambda each: -each[1])


def threads(recording: Recording) -> list[tuple[int, float]]:
    """Numbers of threads that allocated, with their allocations."""
    recording.database.use("lifetimes")
    return recording.database.rows(
        "select thread, sum(blocks) from lifetimes where allocated_interval is not null group by thread order by 2 desc, 1"
    )


_SITE_MODULES = (
    "stack_sites x join sites t on t.site_id = x.site_id join locations r on r.location_id = t.site_location_id"
    " join modules m on m.module_id = r.module_id"
)


def _of_module(recording: Recording, path: str) -> str:
    recording.database.use("stack_sites", "sites", "locations", "modules")
    quoted = path.replace("'", "''")
    return f" and z.stack_id in (select x.stack_id from {_SITE_MODULES} where m.path = '{quoted}')"
