"""speedscope's JSON: one sampled profile for each measure."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from tare.exports.samples import MEASURES, frames_of, prepare_names, samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_UNITS = {"bytes": "bytes", "count": "none"}


def write(recording: Recording, out: IO[bytes]) -> None:
    found = samples(recording)
    prepare_names(recording, found)
    numbers: dict[Frame, int] = {}
    stacks = {
        sample.stack_id: [
            numbers.setdefault(frame, len(numbers)) for frame in reversed(frames_of(recording, sample.stack_id))
        ]
        for sample in found
    }
    profiles = []
    for measure, (field, unit) in MEASURES.items():
        weights: dict[int, int] = {}
        for sample in found:
            weights[sample.stack_id] = weights.get(sample.stack_id, 0) + getattr(sample, field)
        kept = {stack_id: weight for stack_id, weight in weights.items() if weight}
        profiles.append(
            {
                "type": "sampled",
                "name": f"{recording.title}: {measure}",
                "unit": _UNITS[unit],
                "startValue": 0,
                "endValue": sum(kept.values()),
                "samples": [stacks[stack_id] for stack_id in kept],
                "weights": list(kept.values()),
            }
        )
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "tare",
        "name": recording.title,
        "activeProfileIndex": list(MEASURES).index("inuse_space"),
        "shared": {"frames": [_frame(frame) for frame in numbers]},
        "profiles": profiles,
    }
    out.write(json.dumps(document, separators=(",", ":")).encode())


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "name": frame.name,
        **({"file": frame.file} if frame.file else {}),
        **({"line": frame.line} if frame.line else {}),
    }
