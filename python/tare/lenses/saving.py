"""The saving of a remedy: counted by the lens, priced by `analysis/worth.py`."""

from __future__ import annotations

from typing import Literal, NamedTuple

# How much of the source a remedy touches.
Effort = Literal["one line", "one function", "a type", "a design"]


class Timed(NamedTuple):
    """Sums of timed calls, without their outliers: columns of table call_costs."""

    calls: float
    winsorized_ns: float
    free_calls: float
    winsorized_free_ns: float


class Saving(NamedTuple):
    """Of one finding. None: unknown. Fields without a comment count what their names say, over the run."""

    effort: Effort
    peak_bytes: float | None = None  # resident bytes at the peak
    exact: bool = True  # peak_bytes is a sum over all blocks, not an estimate from some of them
    calls: float = 0.0  # allocations that go away
    frees: float = 0.0  # frees that go away
    copied_bytes: float = 0.0
    maps: float = 0.0  # calls of mmap, each with its munmap
    reallocs: float = 0.0  # reallocs in place that go away
    moving_reallocs: float = 0.0  # beside those; their copies are in copied_bytes
    timed: Timed | None = None  # of the finding's calls, where the lens has read them
    untouched_bytes: float = 0.0  # at the peak, on pages that the program never touched: they were never resident
    peak_at_least: bool = False  # the remedy returns more than peak_bytes, by an amount that the recording doesn't have
    long_texts: bool = False  # of blocks that go away: none is so short that a std::string would have it inside
    cpu_at_least: bool = False  # blocks move together, so that the program's own reads miss the cache less often: no recording shows how much
    faults: bool = False  # first writes to the pages of peak_bytes go away, and the remedy costs no time elsewhere


# glibc maps a block of at least so many bytes apart and moves it by remapping; its pages are resident only when they were touched.
MAPPED_APART_BYTES = 128 << 10
