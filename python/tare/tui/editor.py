"""Opens a source file at a line in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.naming.names import Frame

# Editors that take FILE:LINE, some with an option before. All others take +LINE FILE, as vi does.
_COLON = {
    "code": ["--goto", "--wait"],
    "codium": ["--goto", "--wait"],
    "subl": ["--wait"],
    "hx": [],
    "helix": [],
    "zed": ["--wait"],
}


def command(file: str, line: int | None) -> list[str]:
    """By $VISUAL or $EDITOR; vi without both."""
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "") or ["vi"]
    name = os.path.basename(words[0])
    if name in _COLON:
        options = [each for each in _COLON[name] if each not in words]
        return [*words, *options, f"{file}:{line}" if line else file]
    return [*words, *([f"+{line}"] if line else []), file]


def obstacle(frame: Frame | None) -> str:
    """The reason why a frame's line can't be opened; empty: it can."""
    if frame is None:
        return "no line is chosen"
    if not frame.file:
        return f"{frame.name} has no debug information: its file is unknown"
    if not os.path.exists(frame.file):
        return f"{frame.file}:{frame.line or '?'} isn't on this machine"
    return ""


def run(frame: Frame) -> str:
    """Waits for the editor. The reason of a failure, or an empty text."""
    words = command(frame.file, frame.line)
    try:
        done = subprocess.run(words, check=False)
    except OSError as error:
        return f"can't start {words[0]}: {error.strerror}; set $EDITOR"
    return f"{words[0]} ended with status {done.returncode}" if done.returncode else ""
