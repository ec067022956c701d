"""Stacks as one line each, `main;parse;grow`, outermost function first: the input of flame graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

WHOLE_STACK = 8192  # frames: more than any recorded stack has


def prepare_names(recording: Recording, stack_ids: Iterable[int]) -> None:
    """Looks up the names of whole stacks in one batch."""
    with Progress("looking up names"):
        recording.names.prepare_stacks(stack_ids, WHOLE_STACK)


def fold(recording: Recording, amounts: Iterable[tuple[int, float]]) -> list[tuple[str, float]]:
    """Sums by folded stack, the largest first; stacks of the same functions are one. The names have been prepared."""
    sums: dict[str, float] = {}
    for stack_id, amount in amounts:
        folded = ";".join(map(_name, reversed(recording.names.stack(stack_id, WHOLE_STACK))))
        sums[folded] = sums.get(folded, 0) + amount
    return sorted(sums.items(), key=lambda each: (-each[1], each[0]))


def _name(frame: Frame) -> str:
    """Semicolons end a frame, and line ends a stack."""
    return frame.name.replace(";", ":").replace("\n", " ")
