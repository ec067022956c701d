"""Blocks by node of the tree and by the intervals of time that they were allocated and freed in: what the timeline's ranges select.

The layout: of each column below all its values, as varints. `node` as the distance from the cell before; `birth` plus 1 (0: before the
recording); `death` as intervals after `birth` plus 1 (0: never); `thread`, where there are several; blocks; then of gross, slop and
header bytes, in units of their greatest common divisor, the whole quotient by the blocks, and the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import repeat
from math import gcd
from operator import floordiv, mod
from typing import TYPE_CHECKING, Any

from tare.html.varints import varints
from tare.schema.table import INT, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tare.analysis.recording import Recording

# Rows above which neighbouring intervals are joined, two at a time: 2 bytes each, and 60 bytes of JavaScript's arrays.
MOST_CELLS = 600_000

_NODES = Table(
    "page_nodes",
    "the node of each stack",
    (Column("stack_id", INT, "stacks.stack_id"), Column("node", INT, "its node in the page")),
)
_PLACES = Table(
    "page_intervals",
    "an interval of the page for each interval of the recording",
    (Column("interval", INT, "intervals.interval"), Column("place", INT, "the interval that covers it")),
)

_KEY = "node, thread, birth, death"
_SUMS = {"gross": "usable_bytes + header_bytes", "slop": "usable_bytes - requested_bytes", "header": "header_bytes"}
_CELLS = f"""
create or replace temp table page_cells as select node, thread, allocated_interval as birth, freed_interval as death, sum(blocks) as blocks,
 {", ".join(f"sum(blocks * ({sql})) as {name}" for name, sql in _SUMS.items())}
from lifetimes join page_nodes using (stack_id) group by all
"""
_COARSER = f"""
create or replace temp table page_cells as select node, thread, b.place as birth, d.place as death,
 {", ".join(f"sum({name}) as {name}" for name in ("blocks", *_SUMS))}
from page_cells left join page_intervals b on b.interval = birth left join page_intervals d on d.interval = death group by all
"""
_ROWS = f"""
with placed as (
  select node, thread, coalesce(b.place + 1, 0) as birth, coalesce(d.place - coalesce(b.place, 0) + 1, 0) as death,
  {", ".join(f"cast(round({name}) as bigint) as {name}" for name in ("blocks", *_SUMS))}
  from page_cells left join page_intervals b on b.interval = birth left join page_intervals d on d.interval = death
)
select node - lag(node, 1, 0) over (order by {_KEY}), birth, death, thread, blocks, {", ".join(_SUMS)}
from placed where blocks > 0 order by {_KEY}
"""


class Lives:
    def __init__(self, recording: Recording, nodes: Mapping[int, int]) -> None:
        """`nodes`: the node of each stack."""
        self._database = recording.database
        self._nodes = nodes
        self._peak_ns = recording.process["peak_time_ns"]
        self._database.use("lifetimes", "intervals")
        self._ends = dict(self._database.rows("select interval, end_ns from intervals order by interval"))

    def encode(self, place: Sequence[int], most: int = MOST_CELLS) -> tuple[dict[str, Any], bytes]:
        """Facts for the header, and the cells. `place`: the kept node that stands for each node of the tree."""
        self._fill(_NODES, ((stack_id, place[node]) for stack_id, node in self._nodes.items()))
        self._database.run(_CELLS)
        kept = list(self._ends)
        while self._count() > most and len(kept) > 3:
            kept = [n for at, n in enumerate(kept) if at % 2 or n == kept[-1] or self._ends[n] == self._peak_ns]
            self._fill(_PLACES, ((number, kept[bisect_left(kept, number)]) for number in self._ends))
            self._database.run(_COARSER)
        self._fill(_PLACES, ((number, at) for at, number in enumerate(kept)))
        rows = self._database.rows(_ROWS)
        node, birth, death, thread, blocks, *sums = zip(*rows, strict=True) if rows else ((),) * (5 + len(_SUMS))
        threaded = len(set(thread)) > 1
        columns = [node, birth, death, *([thread] if threaded else []), blocks]
        units = []
        for column in sums:
            unit = gcd(*column) or 1
            units.append(unit)
            scaled = list(map(floordiv, column, repeat(unit)))
            columns += [tuple(map(floordiv, scaled, blocks)), tuple(map(mod, scaled, blocks))]
        out = b"".join(map(varints, columns))
        facts = {
            "cells": len(rows),
            "threaded": threaded,
            "units": units,
            "ends": [self._ends[number] for number in kept],
        }
        return {**facts, "intervals": kept, "joined": len(self._ends) - len(kept)}, out

    def blocks_by_node(self) -> list[tuple[int, float]]:
        """Each node's share of all blocks: its weight where nodes are folded."""
        shares: dict[int, float] = {}
        rows = self._database.rows("select stack_id, sum(blocks) from lifetimes group by stack_id")
        whole = sum(blocks for _, blocks in rows) or 1
        for stack_id, blocks in rows:
            node = self._nodes.get(stack_id, 0)
            shares[node] = shares.get(node, 0.0) + blocks / whole
        return list(shares.items())

    def _fill(self, table: Table, rows: Iterable[tuple[int, int]]) -> None:
        self._database.run(f"drop table if exists {table.name}")
        self._database.fill(table, rows)

    def _count(self) -> int:
        count: int = self._database.row("select count(*) from page_cells")[0]
        return count
