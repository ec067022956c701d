"""Leaks that are known and left alone, in LeakSanitizer's format: `leak:PATTERN` a line, matched against the functions, files
and modules of the stacks that made the leaked blocks.

`*` stands for anything, `^` and `$` bind a pattern to the start and the end, else it may match anywhere in a name.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from tare.errors import IO, USAGE, TareError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tare.naming.names import Frame

ENVIRONMENT = "TARE_SUPPRESSIONS"  # files, separated by colons

# glibc keeps the addresses of thread-local storage that it made by malloc in vectors which marking doesn't reach from every
# thread: such blocks look lost and are freed with their thread.
DEFAULTS = ("leak:*tls_get_addr*", "leak:*tlsdesc_dynamic*")


class Suppression(NamedTuple):
    pattern: str
    expression: re.Pattern[str]

    def matches(self, frame: Frame) -> bool:
        names = (frame.function, frame.mangled, frame.file, frame.module)
        return any(name and self.expression.search(name) for name in names)


def parse(lines: Iterable[str], source: str) -> list[Suppression]:
    found = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        kind, colon, pattern = text.partition(":")
        if kind != "leak" or not colon or not pattern.strip("*^$"):
            raise TareError(USAGE, f"{source}:{number}: not a suppression: '{text}'; write leak:PATTERN")
        found.append(Suppression(pattern, _expression(pattern)))
    return found


def _expression(pattern: str) -> re.Pattern[str]:
    start = "^" if pattern.startswith("^") else ""
    end = "$" if pattern.endswith("$") else ""
    body = pattern.removeprefix("^").removesuffix("$")
    return re.compile(start + ".*".join(re.escape(part) for part in body.split("*")) + end)


def defaults() -> list[Suppression]:
    return parse(DEFAULTS, "the defaults")


def load(files: Sequence[str] = ()) -> list[Suppression]:
    """The files in the environment, and `files`."""
    found: list[Suppression] = []
    named = [name for name in os.environ.get(ENVIRONMENT, "").split(":") if name]
    for path in [*named, *files]:
        try:
            with open(path, encoding="utf-8") as file:
                found += parse(file, path)
        except OSError as error:
            raise TareError(IO, f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise TareError(USAGE, f"{path} isn't text: suppressions are lines of leak:PATTERN") from None
    return found


class Matcher:
    """Holds stacks against suppressions. Thousands of stacks share their frames: each is matched once."""

    def __init__(self, suppressions: Sequence[Suppression]) -> None:
        self._suppressions = suppressions
        self._seen: dict[Frame, bool] = {}

    def matches(self, stack: Iterable[Frame]) -> bool:
        return any(self._fits(frame) for frame in stack)

    def _fits(self, frame: Frame) -> bool:
        if frame not in self._seen:
            self._seen[frame] = any(one.matches(frame) for one in self._suppressions)
        return self._seen[frame]
