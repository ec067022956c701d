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
# The recorder doesn't time reallocs. One that grows in place takes 8 to 9 ns into free memory, and 3 to 4 ns at the end of the heap, beside the writing of
# the bytes that it adds: half of it is hidden by that. In a loop of nothing but reallocs it takes 11 ns.
REALLOC_NS = 6.0
# A malloc and a free of blocks that are out of the cache, and a copy of 112 bytes.
MOVING_REALLOC_NS = 25.0


def per_call(calls: float, winsorized_ns: float, least_ns: float) -> float | None:
    """The mean without the clock reads; None if too few calls were timed. `winsorized_ns`: as in table call_costs."""
    return max(winsorized_ns / calls - TIMER_NS, least_ns) if calls >= LEAST_TIMED else None
