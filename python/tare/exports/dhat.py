"""DHAT's file, version 2 (valgrind, dhat/dh_main.c): one program point a stack, with sums over the run, at the peak and at the end."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from tare.exports.samples import frames_of, prepare_names, samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MICROSECOND_NS = 1000


def write(recording: Recording, out: IO[bytes]) -> None:
    found = samples(recording)
    prepare_names(recording, found)
    lives = dict(
        recording.database.rows(
            "select stack_id, coalesce(sum(lifetime_ns), 0) from site_sizes group by stack_id order by stack_id"
        )
    )
    numbers: dict[str, int] = {"[root]": 0}
    points: dict[tuple[int, ...], dict[str, Any]] = {}
    counted: set[int] = set()
    for sample in found:
        stack = frames_of(recording, sample.stack_id)
        # The viewer refuses two points with the same frames: stacks that differ by addresses alone are joined.
        key = tuple(numbers.setdefault(_text(frame), len(numbers)) for frame in stack)
        point = points.setdefault(
            key,
            {"tb": 0, "tbk": 0, "tl": 0.0, "mb": 0, "mbk": 0, "gb": 0, "gbk": 0, "eb": 0, "ebk": 0, "fs": list(key)},
        )
        for field, value in (
            ("tb", sample.total_bytes),
            ("tbk", sample.total_blocks),
            ("gb", sample.peak_bytes),
            ("gbk", sample.peak_blocks),
            ("eb", sample.end_bytes),
            ("ebk", sample.end_blocks),
        ):
            point[field] += value
        if sample.stack_id not in counted:
            counted.add(sample.stack_id)
            point["tl"] += (lives.get(sample.stack_id) or 0) / _MICROSECOND_NS
    for point in points.values():
        point["tl"] = round(point["tl"])
        # A point's own greatest use isn't recorded; its use at the peak of all is a lower bound.
        point["mb"], point["mbk"] = max(point["gb"], point["eb"]), max(point["gbk"], point["ebk"])
    process = recording.process
    document = {
        "dhatFileVersion": 2,
        "mode": "heap",
        "verb": "Allocated",
        "bklt": True,
        "bkacc": False,
        "tu": "µs",
        "Mtu": "s",
        "tuth": 500,
        "cmd": process["command_line"],
        "pid": process["pid"],
        "tg": (process["peak_time_ns"] or 0) // _MICROSECOND_NS,
        "te": (process["duration_ns"] or 0) // _MICROSECOND_NS,
        "pps": list(points.values()),
        "ftbl": list(numbers),
    }
    out.write(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace"))


def _text(frame: Frame) -> str:
    place = f"{frame.file}:{frame.line}" if frame.line else frame.file or f"in {frame.module}"
    return f"{frame.module_offset or 0:#X}: {frame.name} ({place})".replace("0X", "0x")
