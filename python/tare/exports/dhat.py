"""DHAT's file, version 2 (valgrind, dhat/dh_main.c): one program point a stack, with sums over the run, at the peak and at the end."""

from __future__ import annotations

import json
from array import array
from typing import IO, TYPE_CHECKING, Any

from tare.exports import dhat_accesses
from tare.exports.samples import Samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_MICROSECOND_NS = 1000
_FIELDS = ("tb", "tbk", "tl", "gb", "gbk", "eb", "ebk")
_POINT = b"{" + b",".join(b'"%b":%%d' % name.encode() for name in (*_FIELDS, "mb", "mbk")) + b'%b,"fs":[%b]}'


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    samples = Samples(recording, selection, with_tare=False)
    frames: dict[str, int] = {"[root]": 0}
    texts = samples.stacks.texts(
        lambda row: b",".join(b"%d" % frames.setdefault(_text(frame), len(frames)) for frame in row),
        b",",
        outermost_first=False,
    )
    # The viewer refuses two points with the same frames: stacks that differ by addresses alone are one point.
    points: dict[bytes, int] = {}  # their numbers, by the frames' numbers
    sums = [array("q") for _ in _FIELDS]
    accesses = dhat_accesses.Accesses(recording)
    for batch in samples.by_stack():
        for each, key in zip(batch, texts.of([each.stack_id for each in batch]), strict=True):
            point = points.setdefault(key, len(points))
            values = (each.total_bytes, each.total_blocks, each.lifetime_ns // _MICROSECOND_NS, each.live_bytes,
                      each.live_blocks, each.end_bytes, each.end_blocks)  # fmt: skip
            if point == len(sums[0]):
                for column, value in zip(sums, values, strict=True):
                    column.append(value)
            else:
                for column, value in zip(sums, values, strict=True):
                    column[point] += value
            if accesses.known:
                accesses.add(point, each.stack_id)
    out.write(json.dumps(_head(recording, selection, accesses), separators=(",", ":"))[:-1].encode() + b',"pps":[')
    for point, (key, *amounts) in enumerate(zip(points, *sums, strict=True)):
        # The greatest use of a single point isn't recorded: this is a lower bound.
        greatest = (max(amounts[3], amounts[5]), max(amounts[4], amounts[6]))
        out.write(b"," * bool(point) + _POINT % (*amounts, *greatest, accesses.of(point), key))
    out.write(b'],"ftbl":' + json.dumps(list(frames), separators=(",", ":")).encode() + b"}")


def _head(recording: Recording, selection: Selection, accesses: dhat_accesses.Accesses) -> dict[str, Any]:
    process = recording.process
    at_ns = {"peak": process["peak_time_ns"], "end": process["duration_ns"]}.get(selection.at, selection.at_ns)
    return {
        "dhatFileVersion": 2,
        "mode": "heap",
        "verb": "Allocated",
        "bklt": True,
        "bkacc": accesses.known,
        "tu": "µs",
        "Mtu": "s",
        "tuth": 500,
        "cmd": process["command_line"],
        "pid": process["pid"],
        "tg": (at_ns or 0) // _MICROSECOND_NS,
        "te": (process["duration_ns"] or 0) // _MICROSECOND_NS,
    }


def _text(frame: Frame) -> str:
    place = f"{frame.file}:{frame.line}" if frame.line else frame.file or f"in {frame.module}"
    return f"{frame.address or frame.module_offset or 0:#X}: {frame.name} ({place})".replace("0X", "0x", 1)
