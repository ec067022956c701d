"""The type that a line of source allocates: `new T[n]`, `malloc(n * sizeof(T))`, `malloc(sizeof(T) + n)`. Read only if its file is no younger than the recording."""

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
_CALLED = re.compile(r"\b(?!(?:return|if|while|for|switch|sizeof)\b)\w+\s*$")


def type_in(line: str) -> str | None:
    """Without namespaces that the line leaves out. None: it names none, several, or one with more behind it: `sizeof(T) + length`."""
    code = _CODE.sub(" ", line)
    matches = [*_NEW.finditer(code), *_SIZE_OF.finditer(code)]
    if not matches or any(match["pointer"] for match in matches) or "+" in code:
        return None
    names = {match["name"] for match in matches}
    return names.pop() if len(names) == 1 else None


def head_in(line: str) -> str | None:
    """The type that a block begins with, where the line asks for more behind it: `malloc(sizeof(T) + n * sizeof(U))`. None: it names none, or several."""
    code = _CODE.sub(" ", line)
    heads: list[re.Match[str]] = []
    others = [*_NEW.finditer(code)]
    for match in _SIZE_OF.finditer(code):
        before, behind = code[: match.start()].rstrip()[-1:], code[match.end() :].lstrip()[:1]
        if "*" in (before, behind):  # of the array behind the head
            continue
        is_summand = "+" in (before, behind) and before in ("(", ",", "+") and behind in (")", ",", "+")
        (heads if is_summand and _is_argument(code, match.start()) else others).append(match)
    return None if len(heads) != 1 or others or heads[0]["pointer"] else heads[0]["name"]


def _is_argument(code: str, place: int) -> bool:
    """Of a call: not `(sizeof(T) + a) * n`."""
    depth = 0
    for at in range(place - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(code[at], 0)
        if depth < 0:
            return _CALLED.search(code[:at]) is not None
    return False


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
