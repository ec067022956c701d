"""C++ names as people write them: std::string and std::vector<int>, not their default template arguments."""

from __future__ import annotations

import re
from functools import cache

# Inline namespaces of libstdc++ and libc++, and of Tare's library (include/tare/version.h).
_VERSIONED = re.compile(r"\b(std::)(?:__cxx11|__1|__ndk1)::|\b(tare::)v\d+_\d+(?:_\d+)?::")

# Default arguments of std's templates. {0} and {1} are the template's own first and second argument.
_DEFAULTS = (
    "std::char_traits<{0}>",
    "std::allocator<{0}>",
    "std::allocator<std::pair<{0} const, {1}>>",
    "std::less<{0}>",
    "std::hash<{0}>",
    "std::equal_to<{0}>",
    "std::default_delete<{0}>",
)

_OF_CHAR = {"char": "", "wchar_t": "w", "char8_t": "u8", "char16_t": "u16", "char32_t": "u32"}


@cache
def shorten(name: str) -> str:
    """The same name, shorter; anything that isn't understood stays as it is."""
    if "std::" not in name:
        return without_versions(name)
    text, at = _text(without_versions(name), 0, "")
    return text if at < 0 else name


def without_versions(name: str) -> str:
    """`tare::gc::Heap` for `tare::v0_1_0::gc::Heap`, `std::list` for `std::__cxx11::list`."""
    return _VERSIONED.sub(r"\1\2", name) if "::" in name else name


def _text(name: str, at: int, stop: str) -> tuple[str, int]:
    """Text up to a character of `stop` outside brackets, and where that is; -1: the end."""
    out: list[str] = []
    depth = 0  # of parentheses, in which commas separate no template arguments
    while at < len(name):
        char = name[at]
        if char in stop and depth == 0:
            return "".join(out), at
        if name.startswith("operator", at) and not (at and (name[at - 1].isalnum() or name[at - 1] == "_")):
            symbol = re.compile(r"operator\s*(?:<=>|<<=?|>>=?|->\*?|[<>]=?|\(\))?").match(name, at)
            assert symbol is not None
            out.append(symbol.group())
            at = symbol.end()
        elif char == "<":
            parts, at = _arguments(name, at + 1)
            if at < 0:
                return name, 0  # unbalanced
            _close(out, parts)
        else:
            depth += {"(": 1, ")": -1}.get(char, 0)
            out.append(char)
            at += 1
    return "".join(out), -1


def _arguments(name: str, at: int) -> tuple[list[str], int]:
    """The arguments of the template whose `<` is before `at`, and the place after its `>`; -1: there is none."""
    parts = []
    while True:
        part, at = _text(name, at, ",>")
        if at < 0 or (part == name and at == 0):
            return [], -1
        parts.append(part.strip())
        at += 1
        if name[at - 1] == ">":
            return parts, at


def _close(out: list[str], arguments: list[str]) -> None:
    """Appends `<arguments>` to the written text, whose last word is the template's name."""
    written = "".join(out)
    word = re.search(r"[\w:~]*$", written)
    template = word.group() if word else ""
    if template.startswith("std::"):
        while len(arguments) > 1 and _is_default(arguments[-1], arguments):
            arguments = arguments[:-1]
        alias = re.fullmatch(r"std::basic_(\w+)", template)
        if alias and len(arguments) == 1 and arguments[0] in _OF_CHAR:
            out[:] = [written[: len(written) - len(template)], f"std::{_OF_CHAR[arguments[0]]}{alias.group(1)}"]
            return
    out.append(f"<{', '.join(arguments)}>")


def _is_default(argument: str, arguments: list[str]) -> bool:
    first, second = (*arguments, "", "")[:2]
    return any(argument == default.replace("{0}", first).replace("{1}", second) for default in _DEFAULTS)
