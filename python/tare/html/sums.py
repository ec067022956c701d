"""Sums of each stack that the page embeds: at the peak, at the end and over the run; of all blocks and of each lens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.analysis.folded import WHOLE_STACK, prepare_names
from tare.html.store import Function, Measure, StackTree
from tare.schema.missing import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MOMENTS = {"peak": "peak_blocks", "end": "end_blocks", "total": "total_blocks"}
_GROSS = "(usable_bytes + header_bytes)"


class Column:
    """One measure: a column of the query below, and its sum over all stacks."""

    def __init__(self, key: str, label: str, unit: str, sql: str, *, query: str = "") -> None:
        self.sql = sql
        self.measure = Measure(key, label, unit, query or f'tare sql FILE "select sum({sql}) from site_sizes"')


def stack_columns(recording: Recording) -> Iterator[Column]:
    """Without those whose facts an imported file doesn't have."""
    lacking = words_of(recording.process["missing_facts"])
    for moment, blocks in _MOMENTS.items():
        allocated = moment == "total"
        yield Column(f"{moment}.gross", "allocated bytes" if allocated else "gross", "bytes", f"{_GROSS} * {blocks}")
        yield Column(f"{moment}.blocks", "allocations" if allocated else "blocks", "blocks", blocks)
        if not {"usable", "requested"} & set(lacking):
            slop = f"(usable_bytes - requested_bytes) * {blocks}"
            yield Column(f"{moment}.slop", "slop of all blocks", "bytes", slop)
    if not {"order", "times"} & set(lacking):
        yield Column("total.time", "byte-seconds", "byte-seconds", "byte_ns / 1e9")


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


def rounded(rows: Iterable[tuple[int, float]]) -> Iterator[tuple[int, int]]:
    """Values as whole numbers whose sum is the rounded sum of all."""
    so_far, given = 0.0, 0
    for key, value in rows:
        so_far += value or 0.0
        whole = round(so_far) - given
        given += whole
        yield key, whole


def stack_tree(recording: Recording) -> StackTree:
    database = recording.database
    database.use("site_sizes")
    columns, lenses = list(stack_columns(recording)), list(lens_measures(recording))
    selected = ", ".join(f"sum({column.sql})" for column in columns)
    rows = database.rows(f"select stack_id, {selected} from site_sizes group by stack_id order by stack_id")
    tree = StackTree([*(column.measure for column in columns), *(measure for _, _, measure in lenses)])
    nodes = stack_nodes(recording, tree, [row[0] for row in rows])
    for number in range(len(columns)):
        for stack_id, value in rounded((row[0], row[number + 1]) for row in rows):
            tree.add(nodes[stack_id], number, value)
    for number, (lens, column, _) in enumerate(lenses, start=len(columns)):
        granted = database.rows(
            f"select z.stack_id, sum(g.{column}) from ({recording.ledger.grants()}) g join site_sizes z on z.shape_id = g.shape_id"
            f" where g.lens = '{lens}' group by z.stack_id order by z.stack_id"
        )
        for stack_id, value in rounded(granted):
            tree.add(nodes[stack_id], number, value)
    return tree


def stack_nodes(
    recording: Recording, tree: StackTree, stack_ids: list[int], named: Callable[[Frame], Frame] | None = None
) -> dict[int, int]:
    """The node of each stack. Stacks share callers: a return address is looked up once below each node."""
    prepare_names(recording, stack_ids)
    below: dict[tuple[int, int], int] = {}
    innermost: dict[tuple[int, int], int] = {}
    nodes = {}

    def step(at: int, frames: list[Frame]) -> int:
        return tree.node(at, map(named, reversed(frames)) if named else reversed(frames))

    for stack_id in stack_ids:
        at = 0
        rows = recording.names.rows(stack_id, WHOLE_STACK)
        for row in reversed(rows[1:]):
            found = below.get((at, row))
            if found is None:
                found = below[at, row] = step(at, recording.names.frames(row))
            at = found
        last = (at, rows[0] if rows else -1)
        if last not in innermost:  # without allocation wrappers
            innermost[last] = step(at, recording.names.stack(stack_id, 1))
        nodes[stack_id] = innermost[last]
    return nodes


# Code below these paths isn't the program's, unless the program itself lies there.
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/lib32/")
_TOOLCHAIN = ("/include/c++/", "/sysdeps/", "/rustc/", "/csu/")


def is_own(executable: str, function: Function) -> bool:
    """Of the program and of libraries outside of the system's folders; inlined functions of the C++ library aren't."""
    if not function.module or any(part in function.file for part in _TOOLCHAIN):
        return False
    return function.module == executable or not function.module.startswith(_SYSTEM)
