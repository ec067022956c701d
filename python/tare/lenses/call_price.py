"""Prices of the allocator's calls, from the ones that were timed in the run. `bench/worth.py` measures the constants: see bench/RESULTS.md."""

from __future__ import annotations

# With fewer timed calls, a site's mean isn't used.
LEAST_TIMED = 8
# A timed call includes two clock reads (17.5 ns in the bench) and code that is cold: of calls that take 5 ns, means of 22 to 24 ns were recorded.
TIMER_NS = 20.0
# The least that a call takes: glibc's malloc and calloc of a small block that was just freed, and its free.
MALLOC_NS = 3.5
CALLOC_NS = 7.5
FREE_NS = 2.5
# A realloc that moves nothing. The recorder doesn't time reallocs.
REALLOC_NS = 5.0


def per_call(calls: float, ns: float, max_ns: float, least_ns: float) -> float | None:
    """The mean without the clock reads and without the longest call, which may have been interrupted; None where too few were timed."""
    return max((ns - max_ns) / (calls - 1) - TIMER_NS, least_ns) if calls >= LEAST_TIMED else None
