"""Headers: the allocator's own bytes beside each block."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.text.units import exact, human_bytes

_CLAIMS = """
select size_id, stack_id, peak_blocks as blocks,
       header_bytes * peak_blocks as bytes_peak, header_bytes * end_blocks as bytes_end,
       header_bytes * total_blocks as bytes_total,
       byte_ns * header_bytes / (usable_bytes + header_bytes) as byte_ns, total_blocks as calls,
       requested_bytes * peak_blocks as requested_peak, header_bytes * peak_blocks as header_peak,
       total_blocks - end_blocks as freed_blocks, requested_bytes,
       greatest(0, usable_bytes - requested_bytes - (8 - requested_bytes % 8) % 8) * peak_blocks as packed_peak
from site_sizes
where header_bytes > 0
"""


# Freed cells of one size serve no other. With slabs for the texts of perl, ctags and swig, of which 2.5 to 36 times as many were made as the peak has, in
# 68 to 342 sizes, the proofs had a higher peak, or 7 % of the predicted gain. Those with less than twice as many had half of it and more.
_MOST_MADE = 2.0
_MIXED_SIZES = 8


def _comes_and_goes(evidence: Evidence) -> bool:
    return bool(evidence["calls"] > _MOST_MADE * evidence["blocks"] and evidence["sizes"] >= _MIXED_SIZES)


def _slop(evidence: Evidence) -> float:
    """An arena saves the slop of these blocks, too, if multiples of 8 bytes suit them: for as many as have headers that no other lens claims."""
    headers = evidence["bytes_peak"] or 0.0
    return float(evidence["packed_peak"] * headers / evidence["header_peak"]) if evidence["header_peak"] else 0.0


# Slabs of each size begin and end within a page: half of it at either end holds nothing else, on average. Twelve sites with 1 to 22 sizes returned
# 0.2 to 7 KiB less for each than headers and slop, 4 KiB on average (docs/first-screens.md).
_PAGE_BYTES = 4096


def _gain(evidence: Evidence) -> float:
    return float(max(0.0, (evidence["bytes_peak"] or 0.0) + _slop(evidence) - _PAGE_BYTES * evidence["cells"]))


_TOGETHER = Change(
    "Allocate them together: in an arena, in an array, or inside their owner",
    {
        "C": "Allocate them together: in an array, as members of their owner, or in an arena (obstack)",
        "C++": "Allocate them together: as values in a std::vector, as members of their owner, or in an arena "
        "(std::pmr::monotonic_buffer_resource, tare::Arena)",
        "Rust": "Allocate them together: by value in a Vec or in their owner instead of a Box each, or in an arena (the crates bumpalo and typed-arena)",
        "Python": "Create fewer and larger objects: array.array or NumPy arrays for numbers, tuples or classes with __slots__ for records",
        "JavaScript": "Create fewer and larger buffers: views (subarray()) of one large buffer",
        "Java": "Create fewer and larger buffers: slice() of one large direct buffer",
        "Go": "Allocate one C array for all of them, or keep them in a Go slice",
    },
)


def _advise(evidence: Evidence) -> Advice:
    blocks = evidence["blocks"]
    average = evidence["requested_peak"] / blocks if blocks else 0
    slop = _slop(evidence)
    rounded = f", and {human_bytes(slop)} of slop" if slop >= 1 else ""
    if _comes_and_goes(evidence):
        return Advice(
            f"{CHANGE}. {exact(blocks)} blocks of {exact(average)} bytes on average have a header each{rounded}. But {exact(evidence['calls'])} blocks of "
            f"{exact(evidence['sizes'])} sizes and more were made, so that freed places of one size may serve no other: the gain is unknown",
            "low",
            change=_TOGETHER,
        )
    return Advice(
        f"{CHANGE}. {exact(blocks)} blocks of {exact(average)} bytes on average have a header each{rounded}; saves up to "
        f"{human_bytes(_gain(evidence))} at the peak",
        "medium" if average <= 64 else "low",
        change=_TOGETHER,
    )


def _saves(evidence: Evidence) -> Saving:
    """An arena calls the allocator once for a thousand of such blocks."""
    if _comes_and_goes(evidence):
        return Saving("a design", None)
    return Saving(
        "a design",
        _gain(evidence),
        exact=False,
        calls=evidence["calls"],
        frees=evidence["freed_blocks"],
        faults=True,
        cpu_at_least=True,
    )


LENS = Lens(
    name="headers",
    question="Which sites pay for allocator headers because they have many small blocks?",
    why="glibc has 8 bytes beside every block (16 beside a mapped one). This is a quarter of a node of 32 bytes.",
    threshold="sites with at least 0.5 % of gross at the peak, and 4,096 bytes, whose blocks have 128 bytes or less on "
    "average; in larger blocks the header is below 6 %",
    false_positives="Blocks that are freed one by one in any order can't share an arena. If more than twice as many were made as the peak has, "
    "in at least 8 sizes, no gain is predicted. The CPU time is a lower bound: reads of blocks that lie side by side miss the cache less often, which the calls "
    "don't show.",
    remedy="Allocate many small blocks together: in an array, in an arena, or inside the object that owns them. Library: Arena; AtomTable for texts.",
    weight="tare",
    sampling="scaled",
    tables=("site_sizes",),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in ("requested_peak", "header_peak", "packed_peak", "freed_blocks")}
    | {
        "sizes": "count(distinct case when blocks > 0 then requested_bytes end)",
        "cells": "count(distinct case when blocks > 0 then requested_bytes + 7 - (requested_bytes + 7) % 8 end)",
    },
    shown="bytes_peak >= greatest(4096, 0.005 * $gross_peak) and requested_peak <= 128 * blocks",
    order="bytes_peak, byte_ns",
    unit="bytes",
    facts=("usable",),
    advise=_advise,
    saves=_saves,
    guide="08-arena",
)
