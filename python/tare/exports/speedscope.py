"""speedscope's own format: a sampled profile for each measure, over one table of frames."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from tare.analysis.stacks import FrameNumbers
from tare.exports.samples import MEASURES, Samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_UNITS = {"bytes": "bytes", "count": "none"}


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    samples = Samples(recording, selection, with_tare=True)
    numbers = FrameNumbers()
    texts = samples.stacks.texts(
        lambda frames: b",".join(b"%d" % numbers(frame) for frame in frames), b",", outermost_first=True
    )
    head = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "tare",
        "name": recording.title,
        "activeProfileIndex": list(MEASURES).index(selection.shown),
        "shared": {"frames": [_frame(frame) for frame in numbers.frames]},
    }
    out.write(json.dumps(head, separators=(",", ":"))[:-1].encode() + b',"profiles":[')
    for number, (measure, (column, unit)) in enumerate(MEASURES.items()):
        profile = {
            "type": "sampled",
            "name": f"{recording.title}: {measure}",
            "unit": _UNITS[unit],
            "startValue": 0,
            "endValue": samples.sum_of(column),
        }
        out.write(b"," * bool(number) + json.dumps(profile, separators=(",", ":"))[:-1].encode() + b',"samples":[')
        stacks, amounts = samples.of_measure(measure)
        texts.write_rows(stacks, [], [], b"[", b"]", out.write)
        out.write(b'],"weights":[' + ",".join(map(str, amounts)).encode() + b"]}")
    out.write(b"]}")


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "name": frame.name,
        **({"file": frame.file} if frame.file else {}),
        **({"line": frame.line} if frame.line else {}),
    }
