"""DHAT's output, version 2: sums of each stack over the run, at the peak (gb, gbk) and at the end (eb, ebk)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tare.imports import frame_text, sums
from tare.imports.source_file import NONSENSE, Damaged
from tare.imports.sums import StackSums, Sum
from tare.imports.target import About

if TYPE_CHECKING:
    from tare.imports.source_file import SourceFile
    from tare.imports.target import Frame, Target

_MOST_FRAMES = 1000


def matches(head: bytes) -> bool:
    return b'"dhatFileVersion"' in head


def read(source: SourceFile, target: Target) -> None:
    try:
        document = json.loads(source.whole())
        version = document["dhatFileVersion"]
        if version != 2:
            raise Damaged(f"version {version} of DHAT's format isn't supported, only 2")
        if not document["bklt"]:
            raise Damaged(f"mode {document['mode']} of DHAT has no lifetimes of blocks; use --mode=heap")
        exe, *_ = command = str(document["cmd"]).split()
        about = About(
            "DHAT", ["usable", "entry-points", "order"], exe=exe, command=command, pid=document["pid"], aggregated=True
        )
        target.open(about)
        rows = [_row(target, str(text)) for text in document["ftbl"]]
        sums.write(target, [_sums_of(target, rows, point) for point in document["pps"]])
    except NONSENSE as error:
        raise Damaged(f"it isn't DHAT's JSON ({type(error).__name__}: {error})") from None
    target.core.finish(0, True, 0)


def _row(target: Target, text: str) -> int:
    # `[root]`, and frames of other tools, have no address.
    found = frame_text.parsed(text) or frame_text.FrameText(0, text, "", "", 0)
    frame: Frame = (found.name, found.file, found.line)
    return target.row(target.file_named(found.module), found.address & 0xFFFFFFFFFFFF, [frame])


def _sums_of(target: Target, rows: list[int], point: dict[str, Any]) -> StackSums:
    # Frame 0 is `[root]`, which has no code.
    numbers = [int(number) for number in point["fs"] if number != 0]
    if len(numbers) > _MOST_FRAMES or min(numbers, default=0) < 0:
        raise ValueError("fs")
    stack = target.stack([rows[number] for number in numbers])
    total, peak, end = (
        Sum(int(point[blocks]), int(point[size])) for blocks, size in (("tbk", "tb"), ("gbk", "gb"), ("ebk", "eb"))
    )
    return StackSums(stack, total, peak, end)
