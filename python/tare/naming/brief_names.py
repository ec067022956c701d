"""Names of functions in few columns: parameters and template arguments are left out before characters are."""

from __future__ import annotations

import re

from tare.text.terminal import shorten

_CLOSING = {"(": ")", "<": ">", "{": "}", "[": "]"}
_OPERATOR = re.compile(r"operator\s*(?:<=>|<<=?|>>=?|->\*?|[<>]=?|\(\)|\[\])")
_KEPT = "(anonymous namespace)"


def brief(name: str, width: int) -> str:
    """At most `width` characters: without parameters, then with `<…>` for template arguments, then cut in the middle."""
    for text in (name, without_parameters(name), without_arguments(without_parameters(name))):
        if len(text) <= width:
            return shorten(text, width)
    return shorten(text, width)


def without_parameters(name: str) -> str:
    """`a::f<int>(int) const` as `a::f<int>`. Parameters within template arguments stay."""
    out: list[str] = []
    pieces = _pieces(name)
    for number, piece in enumerate(pieces):
        if piece[0] != "(" or piece == _KEPT or not out:
            out.append(piece)
        elif pieces[number + 1 : number + 3] != [":", ":"]:
            break
    return "".join(out)


def without_arguments(name: str) -> str:
    """`a::f<int>` as `a::f<…>`, and without a return type before it."""
    out: list[str] = []
    for piece in _pieces(name):
        # A name that begins so is one of Rust or Python, and Python has f.<locals>.<lambda>.
        is_arguments = piece[0] == "<" and out and out[-1] != "."
        out.append("<…>" if is_arguments else piece)
    return _without_type("".join(out))


def _without_type(name: str) -> str:
    if "(" in name or name.startswith("<") or "operator" in name or "[clone" in name:
        return name
    return name.rpartition(" ")[2]


def _pieces(name: str) -> list[str]:
    """Operators, brackets with what is in them, and single characters."""
    pieces = []
    at = 0
    while at < len(name):
        symbol = _OPERATOR.match(name, at)
        end = symbol.end() if symbol else _end(name, at) if name[at] in _CLOSING else at + 1
        pieces.append(name[at:end])
        at = end
    return pieces


def _end(name: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`; the end of the name where none does."""
    closing = [_CLOSING[name[at]]]
    at += 1
    while at < len(name) and closing:
        if symbol := _OPERATOR.match(name, at):
            at = symbol.end()
            continue
        char = name[at]
        if char == closing[-1]:
            closing.pop()
        elif char in _CLOSING:
            closing.append(_CLOSING[char])
        at += 1
    return at
