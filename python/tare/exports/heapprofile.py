"""V8's sampling heap profile (.heapprofile): the blocks in use as a tree of calls."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from tare.exports.samples import Samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    samples = Samples(recording, selection, with_tare=selection.shown == "tare_space")
    tree = samples.stacks.tree(lambda frame: frame, outermost_first=True)
    tree.add(*samples.of_measure(selection.shown))
    heads = [_head(frame) for frame in tree.keys]
    root = b'{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1}'
    out.write(b'{"head":')
    tree.write_nested(heads, root, out.write)
    out.write(b',"samples":[]}')


def _head(frame: Frame) -> bytes:
    call_frame: dict[str, Any] = {
        "functionName": frame.name,
        "scriptId": "0",
        "url": f"file://{frame.file}" if frame.file.startswith("/") else frame.file,
        "lineNumber": (frame.line or 0) - 1,  # from 0
        "columnNumber": -1,
    }
    return json.dumps({"callFrame": call_frame}, separators=(",", ":"))[:-1].encode()
