"""Facts that an imported recording doesn't have, because the profiler that made its file doesn't record them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Word in process.missing_facts -> the caveat that reports print.
FACTS = {
    "usable": "usable sizes: gross bytes are requested bytes, and slop and headers aren't known",
    "requested": "requested sizes: all bytes are usable bytes, and slop isn't known",
    "entry-points": "entry points: malloc, calloc and operator new can't be distinguished",
    "reallocs": "reallocs: each counts as a free and an allocation",
    "pairs": "addresses: of several blocks with the same stack and size, the youngest counts as freed",
    "order": "single events: lifetimes, times and the course of the heap aren't known",
    "times": "times: only the order of events is known",
    "peak": "peak: the one shown is the use when the file was written",
    "totals": "freed blocks: totals over the run are the blocks of the peak",
    "counts": "numbers of blocks: each stack counts as one block",
    "after-cpu-budget": "later blocks: the CPU share of --budget couldn't be kept, so recording stopped, and the program ran on",
    "after-memory-budget": "later blocks: the memory of --budget couldn't be kept, so recording stopped, and the program ran on",
    "after-disk-budget": "later blocks: the disk space of --budget couldn't be kept, so recording stopped, and the program ran on",
    "exact-stacks": "stacks of blocks that were allocated while `tare attach` recorded the process exactly",
    "end": "sums at the end: the use shown there is that of the last snapshot with stacks",
}

# Columns that are null where a fact is missing.
_NULLS: dict[str, dict[str, tuple[str, ...]]] = {
    "order": {
        "process": (
            *("duration_ns", "peak_time_ns", "events", "alloc_events", "free_events", "realloc_events", "map_events"),
            *("peak_after_allocations", "threads", "pre_existing_frees", "mapped_peak_bytes", "mapped_end_bytes"),
        ),
        "site_sizes": (
            *("freed_within_16", "freed_within_64", "freed_within_256", "freed_within_65536", "freed_later"),
            *("lifetime_ns", "byte_ns"),
        ),
    },
    "times": {
        "process": ("duration_ns", "peak_time_ns"),
        "site_sizes": ("lifetime_ns", "byte_ns"),
        "blocks": ("allocated_ns", "freed_ns"),
    },
    "usable": {
        "process": tuple(f"{when}_usable_bytes" for when in ("peak", "end", "total", "at", "before", "inherited"))
    },
    "reallocs": {"process": ("realloc_events",)},
    "entry-points": {"site_sizes": ("align_bytes",), "blocks": ("align_bytes",)},
}
# Expressions for columns of which imports have a part only. No file of code has 4 GiB: a greater offset is an address in a file whose
# start isn't known.
MOST_OFFSET = 1 << 32
_PARTLY = {"frames": {"module_offset": f"case when module_offset < {MOST_OFFSET} then module_offset end"}}
# Tables about the order of events.
_EMPTY = ("timeline", "growth", "blocks", "twins", "lifetimes", "intervals", "thread_sizes")


def words_of(missing_facts: str | None) -> list[str]:
    """The words of process.missing_facts that this version has."""
    return [word for word in (missing_facts or "").split(",") if word in FACTS]


def lacks_slop(words: Iterable[str]) -> bool:
    """Slop is what usable sizes exceed requested ones by."""
    return not {"usable", "requested"}.isdisjoint(words)


def empty_tables(missing_facts: str | None) -> tuple[str, ...]:
    words = words_of(missing_facts)
    return _EMPTY if "order" in words else ("timeline", "lifetimes", "intervals") if "times" in words else ()


def null_columns(missing_facts: str | None, table: str) -> frozenset[str]:
    return frozenset(column for word in words_of(missing_facts) for column in _NULLS.get(word, {}).get(table, ()))


def partly_null(missing_facts: str | None, table: str) -> dict[str, str]:
    """Column -> the expression for its value."""
    return _PARTLY.get(table, {}) if missing_facts else {}
