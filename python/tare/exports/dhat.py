"""DHAT's file, version 2 (valgrind, dhat/dh_main.c): one program point a stack, with sums over the run, at the peak and at the end."""

from __future__ import annotations

import json
from array import array
from typing import IO, TYPE_CHECKING, Any

from tare._core import sums_by_place
from tare.exports import dhat_accesses
from tare.exports.samples import Samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_MICROSECOND_NS = 1000
_FIELDS = {
    "tb": "total_bytes",
    "tbk": "total_blocks",
    "tl": "lifetime_us",
    "gb": "live_bytes",
    "gbk": "live_blocks",
    "eb": "end_bytes",
    "ebk": "end_blocks",
}


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    samples = Samples(recording, selection, with_tare=False, with_lifetimes=True)
    frames: dict[str, int] = {"[root]": 0}
    texts = samples.stacks.texts(
        lambda row: b",".join(b"%d" % frames.setdefault(_text(frame), len(frames)) for frame in row),
        b",",
        outermost_first=False,
    )
    columns = samples.columns
    stacks = columns["stack_id"].tolist()
    # The viewer refuses two points with the same frames: stacks that differ by addresses alone are one point.
    places, points = texts.distinct(stacks)
    sums = {
        field: array("q", sums_by_place(places, columns[name].tobytes(), len(points)))
        for field, name in _FIELDS.items()
    }
    # The greatest use of a single point isn't recorded: this is a lower bound.
    sums["mb"] = array("q", map(max, sums["gb"], sums["eb"]))
    sums["mbk"] = array("q", map(max, sums["gbk"], sums["ebk"]))
    accesses = dhat_accesses.Accesses(recording)
    if accesses.known:
        for stack, point in zip(stacks, memoryview(places).cast("I"), strict=True):
            accesses.add(point, stack)
    out.write(json.dumps(_head(recording, selection, accesses), separators=(",", ":"))[:-1].encode() + b',"pps":[')
    numbers = [
        (b'%b"%b":' % (b"," if at else b"{", field.encode()), each.tobytes())
        for at, (field, each) in enumerate(sums.items())
    ]
    rests = [accesses.of(point) for point in range(len(points))] if accesses.known else []
    texts.write_rows(points, numbers, rests, b',"fs":[', b"]}", out.write)
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
