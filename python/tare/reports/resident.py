"""The resident memory by owner, on one screen and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.reports.text_parts import caveats, headline, wrapped
from tare.text.terminal import shorten_path
from tare.text.units import duration, human_bytes, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording
    from tare.analysis.resident import Part, Residence
    from tare.text.terminal import Style

_FILES = 5
_MOMENTS = {"peak": "near the peak", "exit": "at the exit"}
_KINDS = {
    "stack": "stacks",
    "mapping": "the program's own mappings",
    "other": "the loader's and the C library's",
    "recorder": "the recorder: not there without it",
}


def report(recording: Recording, found: Residence, style: Style, width: int) -> Iterator[str]:
    for line in wrapped(headline(recording), width):
        yield style(line, "bold")
    for note in caveats(recording):
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    yield ""
    total = found.resident_bytes
    moment = f"'{found.name}'" if found.name else _MOMENTS.get(found.kind, "at a request")

    def row(label: str, amount: float, indent: int = 0, look: str = "", *, is_resident: bool = True) -> Iterator[str]:
        share = percent(amount, total) if is_resident else ""
        cells = f"{human_bytes(amount):>10}{share:>8}  {' ' * indent}"
        first, *rest = wrapped(label, max(width - len(cells), _LEAST_LABEL))
        yield style(cells + first, look) if look else cells + first
        for line in rest:
            yield " " * len(cells) + line

    yield from row(f"resident {moment}, {duration(found.time_ns)} after the start", total, 0, "bold")
    heap = found.heap
    resident = {
        kind: sum(p.resident_bytes for p in found.parts if p.kind == kind) for kind in ("heap", "file", *_KINDS)
    }
    yield from row("heap", resident["heap"], 0, "cyan")
    live = (
        ("requested bytes of live blocks", heap.requested_bytes),
        ("slop: rounding by the allocator", heap.slop_bytes),
        ("the allocator's headers", heap.header_bytes),
    )
    if heap.absent_bytes:  # of which of the three is unknown, so that they have no share of the RSS
        yield from row("live blocks", resident["heap"] - heap.kept_bytes, 2)
        for label, amount in live:
            yield from row(label, amount, 4, is_resident=False)
        yield from row(
            "live blocks on pages that were never touched or are swapped out", -heap.absent_bytes, 4, is_resident=False
        )
    else:
        for label, amount in live:
            yield from row(label, amount, 2)
    yield from row(f"free memory that {recording.process['allocator']} keeps, and its metadata", heap.kept_bytes, 2)
    if heap.pool_rest_bytes:
        yield from row("(of live blocks, unused memory of pools)", heap.pool_rest_bytes, 2)
    yield from row("mapped files: programs and libraries", resident["file"], 0, "cyan")
    files = [part for part in found.parts if part.kind == "file"]
    for part in files[:_FILES]:
        yield from row(shorten_path(part.name, max(width - 22, _LEAST_LABEL)), part.resident_bytes, 2)
    if len(files) > _FILES:
        rest = sum(part.resident_bytes for part in files[_FILES:])
        yield from row(f"({len(files) - _FILES} more)", rest, 2)
    for kind, words in _KINDS.items():
        if resident[kind]:
            yield from row(words, resident[kind], 0, "cyan")
    yield ""
    yield from wrapped(advice(found, recording.process["allocator"]), width)
    peak_rss = recording.process["peak_rss_bytes"]
    if peak_rss:
        yield from wrapped(f"The peak RSS of the run was {human_bytes(peak_rss)}.", width)


_LEAST_LABEL = 16  # columns

# The way to make an allocator return free pages, by its name.
GIVE_BACK = {
    "glibc": "call malloc_trim(0)",
    "jemalloc": "purge its arenas (mallctl arena.N.purge; MALLOC_CONF=dirty_decay_ms:0 for a try)",
    "mimalloc": "call mi_collect(true)",
    "tcmalloc": "call MallocExtension_ReleaseFreeMemory()",
    "": "make the allocator release free pages",
}


def advice(found: Residence, allocator: str) -> str:
    """The advice for its largest part."""
    heap = found.heap
    untouched = sum(
        p.resident_bytes - p.touched_bytes for p in found.parts if p.kind == "heap" and p.touched_bytes is not None
    )
    words = (
        f"Up to {human_bytes(untouched)} of the heap's pages were neither read nor written since the snapshot before. "
        if untouched
        else ""
    )
    live = heap.requested_bytes + heap.slop_bytes + heap.header_bytes
    if 2 * heap.kept_bytes > live:
        return words + (
            "Much of the heap is free, but not released to the kernel: long-lived blocks among short-lived ones keep its pages. Allocate those "
            f"together (Arena), or {GIVE_BACK.get(allocator, GIVE_BACK[''])} when much was freed."
        )
    return words + "Most of the heap is live: `tare report` lists the lines that allocated it."


def as_json(recording: Recording, found: Residence) -> dict[str, Any]:
    process = recording.process
    return {
        "program": process["program"],
        "pid": process["pid"],
        "allocator": process["allocator"],
        "warnings": list(recording.source.warnings),
        "kind": found.kind,
        "name": found.name or None,
        "time_ns": found.time_ns,
        "resident_bytes": found.resident_bytes,
        "peak_rss_bytes": process["peak_rss_bytes"],
        "heap": found.heap._asdict(),
        "parts": [_part(part) for part in found.parts],
    }


def _part(part: Part) -> dict[str, Any]:
    return part._asdict() | {"name": part.name or None}
