"""Prices of the allocator's calls, from the ones that were timed in the run. `bench/worth.py` measures the constants: see bench/RESULTS.md."""

from __future__ import annotations

# Timed calls of a site below which their mean says nothing.
LEAST_TIMED = 8
# Two clock reads, which a timed call includes.
TIMER_NS = 17.5
# The least that a call takes: glibc's malloc and calloc of a small block that was just freed, and its free.
MALLOC_NS = 5.0
CALLOC_NS = 8.0
FREE_NS = 4.0


def per_call(calls: float, ns: float, least_ns: float) -> float | None:
    """The mean without the clock reads; None where too few calls were timed."""
    return max(ns / calls - TIMER_NS, least_ns) if calls >= LEAST_TIMED else None
