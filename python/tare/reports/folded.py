"""Stacks in the form of flame graphs: a line each, `main;parse;grow 4096`, outermost function first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.analysis.stacks import Stacks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

# The measure of a block, by its name in --sort.
_MEASURES = {
    "usable": "usable_bytes * {counted}",
    "requested": "requested_bytes * {counted}",
    "slop": "(usable_bytes - requested_bytes) * {counted}",
    "blocks": "{counted}",
    "byte-seconds": "byte_ns / 1e9",
}
_THOUSANDTHS = 1000  # sums of a tree are whole numbers; samples' and byte-seconds aren't


def lines(recording: Recording, counted: str, measure: str) -> Iterator[str]:
    """`counted` is the column of site_sizes that counts the blocks meant. Stacks of the same functions are one line."""
    recording.database.use("site_sizes")
    amount = _MEASURES[measure].format(counted=counted)
    rows = recording.database.rows(
        f"select stack_id, sum({amount}) as amount from site_sizes where {counted} > 0 group by stack_id order by stack_id"
    )
    stack_ids = [stack_id for stack_id, _ in rows]
    tree = Stacks(recording, stack_ids).tree(_name, outermost_first=True)
    tree.add(stack_ids, [round(amount * _THOUSANDTHS) for _, amount in rows])
    names, frames, parents = tree.keys, tree.frames, tree.parents

    def path(node: int) -> str:
        found: list[str] = []
        while node:
            found.append(names[frames[node]])
            node = parents[node]
        return ";".join(reversed(found)) or "(unknown)"

    shown = [(-amount, path(node)) for node, amount in enumerate(tree.amounts) if round(amount / _THOUSANDTHS)]
    for negative, folded in sorted(shown):
        yield f"{folded} {round(-negative / _THOUSANDTHS)}"


def _name(frame: Frame) -> str:
    """Semicolons end a frame, and line ends a stack."""
    return frame.name.replace(";", ":").replace("\n", " ")
