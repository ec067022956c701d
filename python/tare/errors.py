"""Errors, as one line for a user and an exit status for a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# A kind in the core's list (src/trace/base/errors.def, see `_core.ERRORS`) has the core's status. These are the front
# end's own failures, so that a wrong option is reported without an import of the core.
USAGE = "Usage"
QUERY = "Query"
IO = "Io"
NOT_A_TRACE = "NotATrace"
CORRUPT = "Corrupt"
INTERNAL = "Internal"
COMMAND_NOT_FOUND = "CommandNotFound"
CANNOT_RECORD = "CannotRecord"


class TareError(Exception):
    """One line: what happened, to which file, and what to do next."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status: int | None = None  # where the verb has a rule of its own
        self.excerpt: list[str] = []  # lines that show the place, below the message

    @property
    def exit_status(self) -> int:
        if self.status is not None:
            return self.status
        from tare import _core

        status, _ = _core.ERRORS.get(self.kind, (70, ""))
        return status


def warn(warnings: Iterable[str]) -> None:
    """On standard error, for reports that have no place of their own for it: warnings about a trace mean that its figures are
    partial.
    """
    import sys

    from tare.text.printable import say

    say((f"tare: {warning}" for warning in warnings), sys.stderr)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`: did you mean --depth?`, or nothing where no known word is similar."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f": did you mean {close[0]}?" if close else ""
