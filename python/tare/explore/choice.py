"""The choices of the reader: a measure, a time or a range of time, and filters."""

from __future__ import annotations

from typing import Literal, NamedTuple

Life = Literal["live", "born", "kept", "freed"]
# Of a range of time.
LIVES: dict[Life, str] = {
    "live": "live at the end of",
    "born": "allocated in",
    "kept": "allocated in, and still live at the end of",
    "freed": "freed in",
}


Moment = Literal["peak", "end", "total", "range"]


class When(NamedTuple):
    """`moment`: peak, end (of a recording in progress: now) or total; or `range`, the intervals of time after `begin` up to `end`."""

    moment: Moment = "peak"
    life: Life = "live"
    begin: int = -1
    end: int = 0


class Choice(NamedTuple):
    when: When = When()
    measure: str = "gross"  # a key of `sums.measures`
    module: str = ""  # allocations of functions in this file of code; empty: all
    thread: int | None = None
    search: str = ""  # a regular expression, not case-sensitive
    own_only: bool = False  # frames of foreign code belong to their nearest own caller

    @property
    def of_sums(self) -> tuple[object, ...]:
        """The part that sums by stack depend on."""
        return self.when, self.measure, self.module, self.thread
