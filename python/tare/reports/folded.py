"""Stacks as flame graphs want them: a line each, `main;parse;grow 4096`, outermost function first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.names import Frame
    from tare.recording import Recording

_WHOLE_STACK = 8192
# What of a block counts, by the name that --sort has for it.
_MEASURES = {
    "usable": "usable_bytes * {counted}",
    "requested": "requested_bytes * {counted}",
    "slop": "(usable_bytes - requested_bytes) * {counted}",
    "blocks": "{counted}",
    "byte-seconds": "byte_ns / 1e9",
}


def lines(recording: Recording, counted: str, measure: str) -> Iterator[str]:
    """`counted` is the column of site_sizes that counts the blocks meant. Stacks of the same functions are one line."""
    from tare.terminal import Progress

    recording.database.use("site_sizes")
    amount = _MEASURES[measure].format(counted=counted)
    rows = recording.database.rows(
        f"select stack_id, sum({amount}) as amount from site_sizes where {counted} > 0 group by stack_id order by stack_id"
    )
    with Progress("tare: looking up names"):
        recording.names.prepare_stacks([stack_id for stack_id, _ in rows], _WHOLE_STACK)
    sums: dict[str, float] = {}
    for stack_id, amount_here in rows:
        folded = ";".join(map(_name, reversed(recording.names.stack(stack_id, _WHOLE_STACK))))
        sums[folded] = sums.get(folded, 0.0) + amount_here
    for folded, total in sorted(sums.items(), key=lambda each: (-each[1], each[0])):
        if round(total):
            yield f"{folded} {round(total)}"


def _name(frame: Frame) -> str:
    """Semicolons end a frame, and line ends a stack."""
    return frame.name.replace(";", ":").replace("\n", " ")
