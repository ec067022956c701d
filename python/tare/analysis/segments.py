"""The files that one recording was cut into: F is the latest, F.s1, F.s2, ... are older (tare run --max-size)."""

from __future__ import annotations

import os
import re

_NUMBERED = re.compile(r"(.+)\.s([1-9][0-9]*)", re.DOTALL)


def others(path: str) -> list[str]:
    """Names of the segments beside the one at `path`, the oldest first."""
    folder, name = os.path.split(path)
    numbered = _NUMBERED.fullmatch(name)
    base = numbered[1] if numbered else name
    found: list[tuple[int, str]] = []
    try:
        entries = os.listdir(folder or ".")
    except OSError:
        return []
    for entry in entries:
        match = _NUMBERED.fullmatch(entry)
        if match and match[1] == base:
            found.append((int(match[2]), entry))
    names = [entry for _, entry in sorted(found)]
    if base in entries:
        names.append(base)
    return [entry for entry in names if entry != name]
