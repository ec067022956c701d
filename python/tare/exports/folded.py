"""Folded stacks: `main;parse;grow 4096`, one line a stack, with gross bytes at the peak."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tare.analysis.folded import fold, prepare_names
from tare.exports.samples import samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording


def write(recording: Recording, out: IO[bytes]) -> None:
    found = [sample for sample in samples(recording) if sample.peak_bytes]
    prepare_names(recording, {sample.stack_id for sample in found})
    for folded, value in fold(recording, ((sample.stack_id, sample.peak_bytes) for sample in found)):
        out.write(f"{folded} {value}\n".encode("utf-8", "replace"))
