"""Progress and warnings of long computations. Modules report them here; the command line displays them, other callers see nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


class Display:
    """Shows nothing. tare.text.terminal has one for people."""

    def update(self, task: str, started: bool, share: float, detail: str) -> None:
        """`share` is from 0 to 1, below 0 if the end isn't known. `started`: the first update of a task."""

    def clear(self) -> None:
        """The task has ended, or text follows."""

    def warn(self, message: str) -> None:
        """A limit of the result: the computation goes on."""


_display = Display()


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    global _display
    before, _display = _display, display
    try:
        yield
    finally:
        _display = before


def warn(message: str) -> None:
    _display.clear()
    _display.warn(message)


class Progress:
    """One task; a context manager."""

    def __init__(self, task: str) -> None:
        self._task = task
        _display.update(task, True, -1, "")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def update(self, share: float, detail: str = "") -> None:
        _display.update(self._task, False, share, detail)

    def clear(self) -> None:
        _display.clear()
