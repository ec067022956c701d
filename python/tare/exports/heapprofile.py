"""V8's sampling heap profile (.heapprofile): the blocks live at the peak as a tree of calls."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from tare.exports.samples import Tree, frames_of, prepare_names, samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame


def write(recording: Recording, out: IO[bytes]) -> None:
    found = [sample for sample in samples(recording) if sample.peak_bytes]
    prepare_names(recording, found)
    tree = Tree()
    for sample in found:
        tree.add(frames_of(recording, sample.stack_id), sample.peak_bytes)
    # Stacks of thousands of frames are deeper than the encoder's recursion: text is made from the inside outwards.
    texts: list[str] = [""] * len(tree.frames)
    for number in range(len(texts) - 1, -1, -1):
        head = {"callFrame": _call_frame(tree.frames[number]), "selfSize": tree.values[number], "id": number + 1}
        below = ",".join(texts[each] for each in tree.below(number))
        texts[number] = f'{json.dumps(head, separators=(",", ":"))[:-1]},"children":[{below}]}}'
        for each in tree.below(number):
            texts[each] = ""
    out.write(f'{{"head":{texts[0]},"samples":[]}}'.encode())


def _call_frame(frame: Frame | None) -> dict[str, Any]:
    if frame is None:
        return {"functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1}
    return {
        "functionName": frame.name,
        "scriptId": "0",
        "url": f"file://{frame.file}" if frame.file.startswith("/") else frame.file,
        "lineNumber": (frame.line or 0) - 1,  # from 0
        "columnNumber": -1,
    }
