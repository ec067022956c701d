"""valgrind's texts of frames: `0x10B2F5: main (app.c:12)`, `0x4843808: malloc (in /usr/lib/libc.so.6)`, `0x1: ???`."""

from __future__ import annotations

import re
from typing import NamedTuple

# Function names have parentheses and spaces, too: these look for the ends of the text, without steps back.
_ADDRESS = re.compile(r"0x([0-9A-Fa-f]{1,16}): ")
_LINE = re.compile(r"([^()]*):(\d{1,18})\)")
_MOST_LINE = 0x7FFFFFFF


class FrameText(NamedTuple):
    address: int
    name: str  # "": unknown
    module: str
    file: str
    line: int


def parsed(text: str) -> FrameText | None:
    """None: it has no address."""
    found = _ADDRESS.match(text)
    if found is None:
        return None
    address, rest = int(found[1], 16), text[found.end() :]
    module, file, line = "", "", 0
    if rest.endswith(")"):
        name, space, place = rest.partition(" (in ")
        if space:
            module = place[:-1]
        else:
            name, space, place = rest.rpartition(" (")
            if space and (at := _LINE.fullmatch(place)):
                file, line = at[1], min(int(at[2]), _MOST_LINE)
            else:
                name = rest
        rest = name
    return FrameText(address, "" if rest == "???" else rest, module, file, line)
