"""The type that a line of source allocates: `new T[n]`, `malloc(n * sizeof(T))`. Read only if its file is no younger than the recording."""

from __future__ import annotations

import os
import re
import stat
from functools import cache

_NAME = r"(?:(?:struct|union|class)\s+)?(?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)"
# Behind the name comes an array's bound, a constructor's arguments, or the end of the expression: `new T*[n]` makes pointers.
_NEW = re.compile(rf"\bnew\s*(?:\([^()]*\)\s*)?{_NAME}\s*(?P<pointer>\*)?\s*(?=[\[({{;,)]|$)")
_SIZE_OF = re.compile(rf"\bsizeof\s*\(\s*{_NAME}\s*(?P<pointer>\*)?\s*\)")
_CODE = re.compile(r"//.*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"")
_MOST_FILE_BYTES = 8 << 20


def type_in(line: str) -> str | None:
    """Without namespaces that the line leaves out. None: it names none, several, or one with more behind it: `sizeof(T) + length`."""
    code = _CODE.sub(" ", line)
    matches = [*_NEW.finditer(code), *_SIZE_OF.finditer(code)]
    if not matches or any(match["pointer"] for match in matches) or "+" in code:
        return None
    names = {match["name"] for match in matches}
    return names.pop() if len(names) == 1 else None


def line_of(path: str, number: int, begun_ns: int) -> str:
    """Empty: the file isn't readable, is no text, or was changed after the recording began."""
    lines = _lines(path, begun_ns)
    return lines[number - 1] if 0 < number <= len(lines) else ""


@cache
def _lines(path: str, begun_ns: int) -> list[str]:
    """The path comes from a trace: it may name a pipe."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):  # ValueError: a path with a NUL
        return []
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_FILE_BYTES or found.st_mtime_ns > begun_ns:
            return []
        with os.fdopen(os.dup(file), "rb") as text:
            data = text.read(_MOST_FILE_BYTES)
    except OSError:
        return []
    finally:
        os.close(file)
    return [] if b"\0" in data else data.decode("utf-8", "replace").split("\n")
