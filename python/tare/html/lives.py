"""Blocks by node of the tree and by the intervals of time that they were allocated and freed in: what the timeline's ranges select.

The layout: of each column below all its values, as varints. `node` as the distance from the cell before; `birth` plus 1 (0: before the
recording); `death` as intervals after `birth` plus 1 (0: never); `thread`, where there are several; blocks; then of gross, slop and
header bytes the whole quotient by the blocks, and the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.html.varints import put_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.analysis.recording import Recording

# node, thread, birth + 1, death, blocks, gross, slop, header
Row = tuple[int, int, int, int, int, int, int, int]

_QUERY = """
select stack_id, thread, coalesce(birth_interval + 1, 0), coalesce(death_interval - greatest(coalesce(birth_interval, 0), 0) + 1, 0),
 sum(blocks), sum(blocks * (usable_bytes + header_bytes)), sum(blocks * (usable_bytes - requested_bytes)), sum(blocks * header_bytes)
from lives group by all
"""


class Lives(NamedTuple):
    ends_ns: list[int]
    rows: list[Row]

    @property
    def threaded(self) -> bool:
        return len({row[1] for row in self.rows}) > 1


def lives_of(recording: Recording, nodes: Mapping[int, int]) -> Lives:
    """`nodes`: the node of each stack."""
    recording.database.use("lives", "intervals")
    ends = [row[0] for row in recording.database.rows("select end_ns from intervals order by interval")]
    rows = recording.database.rows(_QUERY)
    return Lives(ends, [(nodes[row[0]], row[1], row[2], row[3], *map(round, row[4:])) for row in rows])


def encode(lives: Lives, place: Sequence[int]) -> tuple[int, bytes]:
    """The number of cells, and the cells. `place`: the kept node that stands for each node of the tree."""
    rows = _merged(lives.rows, place)
    out = bytearray()
    nodes = [row[0] for row in rows]
    put_column(out, [at - before for at, before in zip(nodes, [0, *nodes], strict=False)])
    for column in (2, 3, *((1,) if lives.threaded else ()), 4):
        put_column(out, [row[column] for row in rows])
    for column in (5, 6, 7):
        put_column(out, [row[column] // (row[4] or 1) for row in rows])
        put_column(out, [row[column] % (row[4] or 1) if row[4] else row[column] for row in rows])
    return len(rows), bytes(out)


def _merged(rows: Sequence[Row], place: Sequence[int]) -> list[Row]:
    """One row for each node, thread and pair of intervals, in their order."""
    sums: dict[tuple[int, int, int, int], tuple[int, int, int, int]] = {}
    for node, thread, birth, death, blocks, gross, slop, header in rows:
        key = (place[node], birth, death, thread)
        before = sums.get(key)
        if before:
            sums[key] = (before[0] + blocks, before[1] + gross, before[2] + slop, before[3] + header)
        else:
            sums[key] = (blocks, gross, slop, header)
    return [(key[0], key[3], key[1], key[2], *sums[key]) for key in sorted(sums)]
