"""Folded stacks: `main;parse;grow 4096`, one line a stack, with the chosen measure. Stacks of the same functions are one line."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tare.exports.samples import Samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    samples = Samples(recording, selection, with_tare=selection.shown == "tare_space")
    tree = samples.stacks.tree(_name, outermost_first=True)
    tree.add(*samples.of_measure(selection.shown))
    tree.write_folded(tree.keys, b"(unknown)", out.write)


def _name(frame: Frame) -> bytes:
    """Semicolons end a frame, and line ends a stack."""
    return frame.name.replace(";", ":").replace("\n", " ").encode("utf-8", "replace")
