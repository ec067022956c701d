"""Stacks in the form of flame graphs: a line each, `main;parse;grow 4096`, outermost function first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.analysis.folded import fold, prepare_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording

# The measure of a block, by its name in --sort.
_MEASURES = {
    "usable": "usable_bytes * {counted}",
    "requested": "requested_bytes * {counted}",
    "slop": "(usable_bytes - requested_bytes) * {counted}",
    "blocks": "{counted}",
    "byte-seconds": "byte_ns / 1e9",
}


def lines(recording: Recording, counted: str, measure: str) -> Iterator[str]:
    """`counted` is the column of site_sizes that counts the blocks meant. Stacks of the same functions are one line."""
    recording.database.use("site_sizes")
    amount = _MEASURES[measure].format(counted=counted)
    rows = recording.database.rows(
        f"select stack_id, sum({amount}) as amount from site_sizes where {counted} > 0 group by stack_id order by stack_id"
    )
    prepare_names(recording, (stack_id for stack_id, _ in rows))
    for folded, total in fold(recording, rows):
        if round(total):
            yield f"{folded} {round(total)}"
