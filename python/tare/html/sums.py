"""Sums of each stack that the page embeds: at the peak, at the end and over the run; of all blocks and of each lens."""

from __future__ import annotations

from array import array
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from tare.html.lives import Lives
from tare.html.store import Function, Measure, StackTree
from tare.naming.cpp_names import shorten
from tare.progress import Progress
from tare.schema.missing import lacks_slop, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MOMENTS = {"peak": "peak_blocks", "end": "end_blocks", "total": "total_blocks"}
_GROSS = "(usable_bytes + header_bytes)"


class Column(NamedTuple):
    """One measure: a column of the query below, and its sum over all stacks."""

    sql: str
    measure: Measure

    @staticmethod
    def of(key: str, label: str, unit: str, sql: str) -> Column:
        return Column(sql, Measure(key, label, unit, f'tare sql FILE "select sum({sql}) from site_sizes"'))


def stack_columns(recording: Recording) -> Iterator[Column]:
    """Without those whose facts an imported file doesn't have."""
    lacking = words_of(recording.process["missing_facts"])
    for moment, blocks in _MOMENTS.items():
        allocated = moment == "total"
        yield Column.of(f"{moment}.gross", "allocated bytes" if allocated else "gross", "bytes", f"{_GROSS} * {blocks}")
        yield Column.of(f"{moment}.blocks", "allocations" if allocated else "blocks", "blocks", blocks)
        if not lacks_slop(lacking):
            slop = f"(usable_bytes - requested_bytes) * {blocks}"
            yield Column.of(f"{moment}.slop", "slop of all blocks", "bytes", slop)
    if not {"order", "times"} & set(lacking):
        yield Column.of("total.time", "byte-seconds", "byte-seconds", "byte_ns / 1e9")


def lens_measures(recording: Recording) -> Iterator[tuple[str, str, Measure]]:
    """Lens, column of its grants, measure. Lenses without bytes are left out."""
    for totals in recording.ledger.tare_totals:
        for moment in ("peak", "end"):
            if round(getattr(totals, f"bytes_{moment}")):
                command = (
                    f"tare report FILE --json | jq '.lenses[] | select(.lens == \"{totals.lens}\") | .bytes_{moment}'"
                )
                yield (
                    totals.lens,
                    f"bytes_{moment}",
                    Measure(f"{moment}.tare:{totals.lens}", f"tare: {totals.lens}", "bytes", command),
                )


def rounded(rows: Iterable[tuple[int, float | None]]) -> Iterator[tuple[int, int]]:
    """Values as whole numbers whose sum is the rounded sum of all."""
    keys, values = tuple(zip(*rows, strict=True)) or ((), ())
    return zip(keys, rounded_values(value or 0.0 for value in values), strict=True)


def rounded_values(values: Iterable[float]) -> list[int]:
    so_far = [0, *map(round, accumulate(values))]
    return list(map(sub, so_far[1:], so_far))


def stack_tree(recording: Recording) -> StackTree:
    database = recording.database
    database.use("site_sizes")
    columns, lenses = list(stack_columns(recording)), list(lens_measures(recording))
    timed = not {"order", "times"} & set(words_of(recording.process["missing_facts"]))
    granted = {(lens, column): grants(recording, column, lens) for lens, column, _ in lenses}
    if timed:
        database.use("lifetimes", "intervals")
        in_lives = derived(recording, granted)
        columns = [column._replace(measure=column.measure.of_lives(in_lives)) for column in columns]
        lenses = [(lens, column, measure.of_lives(in_lives)) for lens, column, measure in lenses]
    tree = StackTree([*(column.measure for column in columns), *(measure for _, _, measure in lenses)])
    stored = [(number, column.sql) for number, column in enumerate(columns) if not column.measure.quantity]
    selected = "".join(f", sum({sql}) as sum_{number}" for number, sql in stored)
    database.run(
        f"create or replace temp table page_sums as select stack_id{selected} from site_sizes group by stack_id"
    )
    stacks = [row[0] for row in database.rows("select stack_id from page_sums order by stack_id")]
    if timed:
        known = set(stacks)  # memory of pools, and malloc's blocks below it, have stacks of their own
        stacks += [
            row[0]
            for row in database.rows("select distinct stack_id from lifetimes order by stack_id")
            if row[0] not in known
        ]
    nodes = stack_nodes(recording, tree, stacks)
    add_types(recording, tree, nodes)
    name_sites(recording, tree, nodes)
    sums = {number: f"select stack_id, sum_{number} from page_sums" for number, _ in stored}
    for number, (lens, column, measure) in enumerate(lenses, start=len(columns)):
        if not measure.quantity:
            sums[number] = granted[lens, column]
    for number, query in sums.items():
        # Most stacks have nothing at the peak.
        amounts = database.rows(
            f"select stack_id, amount from ({query}) x(stack_id, amount) where amount <> 0 order by stack_id"
        )
        places = [nodes[stack_id] for stack_id, _ in amounts]
        tree.add_all(number, places, rounded_values([amount for _, amount in amounts]))
    if timed:
        tree.lives = Lives(recording, nodes)
    return tree


def name_sites(
    recording: Recording, tree: StackTree, nodes: dict[int, int], named: Callable[[Frame], Frame] | None = None
) -> None:
    """Adds the function that names the site of each stack."""
    recording.database.use("stack_sites", "sites")
    rows = recording.database.rows(
        "select x.stack_id, s.site_location_id from stack_sites x join sites s on s.site_id = x.site_id where s.site_location_id is not null"
    )
    rows = [row for row in rows if row[0] in nodes]
    locations = {location_id for _, location_id in rows}
    recording.names.prepare(locations)
    frames = {location_id: recording.names.at(location_id) for location_id in locations}
    of = {location_id: Function.of(named(frame) if named else frame) for location_id, frame in frames.items()}
    tree.sites |= {nodes[stack_id]: of[location_id] for stack_id, location_id in rows}


# A stack's blocks have a type if all that are known to have one have the same.
TYPES = "select stack_id, min(type) as type from type_sites group by stack_id having count(distinct type) = 1"


def add_types(recording: Recording, tree: StackTree, nodes: dict[int, int]) -> None:
    """Adds the type of each stack's blocks. Stacks of one node with blocks of several types get nodes of their own."""
    recording.database.use("type_sites")
    types = {stack_id: shorten(name) for stack_id, name in recording.database.rows(TYPES) if nodes.get(stack_id)}
    if not types:
        return
    of_node: dict[int, dict[str, list[int]]] = {}
    typed = {nodes[stack_id] for stack_id in types}
    for stack_id, node in nodes.items():
        if node in typed:
            of_node.setdefault(node, {}).setdefault(types.get(stack_id, ""), []).append(stack_id)
    others: list[tuple[int, str, list[int]]] = []
    for node, by_type in of_node.items():
        (first, _), *rest = sorted(by_type.items())
        if first:
            tree.types[node] = first
        others += [(node, name, stacks) for name, stacks in rest]
    for made, (_, name, stacks) in zip(tree.split([node for node, _, _ in others]), others, strict=True):
        tree.types[made] = name
        nodes.update(dict.fromkeys(stacks, made))


def grants(recording: Recording, column: str, lens: str | None = None) -> str:
    """A query for the bytes of a lens, or of all, by stack."""
    return (
        f"select z.stack_id, sum(g.{column}) from ({recording.ledger.grants()}) g join site_sizes z on z.size_id = g.size_id"
        + (f" where g.lens = '{lens}'" if lens else "")
        + " group by z.stack_id order by z.stack_id"
    )


def derived(recording: Recording, granted: dict[tuple[str, str], str]) -> dict[str, str]:
    """Measures that sums over `lifetimes` equal for each stack, with the quantity: they needn't be stored beside it."""
    database = recording.database
    peak = database.rows(f"select interval from intervals where end_ns = {recording.process['peak_time_ns']}")
    live = (
        "(allocated_interval is null or allocated_interval <= {0}) and (freed_interval is null or freed_interval > {0})"
    )
    moments = {"end": "freed_interval is null", "total": "allocated_interval is not null"}
    if peak:
        moments["peak"] = live.format(peak[0][0])
    found = {}
    for moment, condition in moments.items():
        counted = _MOMENTS[moment]
        database.run(
            f"create or replace temp table of_lives as select stack_id, sum(blocks * (usable_bytes + header_bytes)) as gross, sum(blocks) as blocks,"
            f" sum(blocks * (usable_bytes - requested_bytes)) as slop, sum(blocks * header_bytes) as header from lifetimes where {condition} group by stack_id"
        )
        others = {
            f"{moment}.{name}": (
                name,
                f"select stack_id, sum({sql}) from site_sizes where {counted} > 0 group by stack_id",
            )
            for name, sql in (
                ("gross", f"{_GROSS} * {counted}"),
                ("blocks", counted),
                ("slop", f"(usable_bytes - requested_bytes) * {counted}"),
            )
        }
        others |= {
            f"{moment}.tare:{lens}": ("header" if lens == "headers" else "slop", query)
            for (lens, column), query in granted.items()
            if column == f"bytes_{moment}" and lens in ("slop", "headers")
        }
        for key, (quantity, query) in others.items():
            differing = database.row(
                f"select count(*) from of_lives full join ({query}) o(stack_id, value) using (stack_id)"
                f" where abs(coalesce({quantity}, 0) - coalesce(o.value, 0)) > 1e-3"
            )
            if not differing[0]:
                found[key] = quantity
    return found


def stack_nodes(
    recording: Recording, tree: StackTree, stack_ids: list[int], named: Callable[[Frame], Frame] | None = None
) -> dict[int, int]:
    """The node of each stack. The core walks the stacks; here each return address gets the numbers of its functions."""
    source, names = recording.source, recording.names
    rows = source.rows_of_stacks(stack_ids)
    with Progress("looking up names"):
        names.prepare(rows)
    made = source.frame_tree(True)
    number: dict[Frame, int] = {}

    def of(frame: Frame) -> int:
        found = number.get(frame)
        if found is None:
            found = number[frame] = tree.function(named(frame) if named else frame)
        return found

    for row in rows:
        every = [of(frame) for frame in names.frames(row)]
        made.name(row, every, every[len(every) - len(names.callers(row)) :])
    tree.wrappers |= {Function.of(named(frame) if named else frame) for frame in names.wrappers}
    nodes = array("I", made.add(stack_ids, [0] * len(stack_ids)))
    place = tree.merge(made)
    return {stack_id: place[node] for stack_id, node in zip(stack_ids, nodes, strict=True)}
