"""Mappings: memory that a program maps itself and never touches, or maps and unmaps again and again."""

from __future__ import annotations

from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.text.units import exact, human_bytes, human_count, percent

LEAST_RESERVED_BYTES = 64 << 20
_TOUCHED_SHARE = 0.1
LEAST_CALLS = 1000
SHORT_LIFE_NS = 10_000_000

# `untouched_bytes`: at the launcher's reading; without one nothing is known to be untouched.
_CLAIMS = """
select cast(null as bigint) as size_id, stack_id, 0 as blocks,
       accessible_bytes - resident_bytes as bytes_peak, 0 as bytes_end, unmapped_bytes as bytes_total,
       unmapped_byte_ns as byte_ns, maps as calls,
       accessible_bytes, resident_bytes, mapped_bytes, unmapped_bytes, unmapped_byte_ns, max_bytes
from mappings
where stack_id <> 0 and maps > 0
"""
_SUMS = ("accessible_bytes", "resident_bytes", "mapped_bytes", "unmapped_bytes", "unmapped_byte_ns")


def _advise(evidence: Evidence) -> Advice:
    calls = evidence["calls"]
    accessible, resident = evidence["accessible_bytes"], evidence["resident_bytes"]
    if accessible >= LEAST_RESERVED_BYTES and resident < _TOUCHED_SHARE * accessible:
        return Advice(
            "Reserve with PROT_NONE and MAP_NORESERVE, and allow access piece by piece, or reserve less: of "
            f"{human_bytes(accessible)} only {human_bytes(resident)} ({percent(resident, accessible)}) were in memory near the peak RSS. "
            "The rest costs address space and counts toward limits (ulimit -v, strict overcommit), not memory",
            "medium",
            amount=f"{human_bytes(accessible - resident)} untouched",
        )
    unmapped = evidence["unmapped_bytes"]
    life = (
        f"for {evidence['unmapped_byte_ns'] / unmapped / 1e6:.3g} ms on average" if unmapped else "and unmapped nothing"
    )
    return Advice(
        "Keep the mapping for the next use, or map one range and divide it: "
        f"{exact(calls)} calls mapped {human_bytes(evidence['mapped_bytes'])}, at most {human_bytes(evidence['max_bytes'])} at a time, "
        f"{life}. Each call takes the lock of the address space, and the kernel fills each page with zeros again "
        "when the program touches it",
        "high" if evidence["max_bytes"] * 16 < evidence["mapped_bytes"] else "medium",
        amount=f"{human_count(calls)} maps",
    )


def _saves(evidence: Evidence) -> Saving:
    """Untouched memory isn't resident. Which share of short-lived mappings was touched is unknown: only the calls count."""
    again = evidence["unmapped_bytes"] / evidence["mapped_bytes"] if evidence["mapped_bytes"] else 0.0
    return Saving(
        "one function", 0.0, maps=evidence["calls"] * min(1.0, again), untouched_bytes=evidence["bytes_peak"] or 0.0
    )


LENS = Lens(
    name="mappings",
    question="Which sites map memory that the program never touches, or map and unmap memory again and again?",
    why="A mapping costs system calls, page faults and zeroed pages each time. An untouched one takes address space, which limits count.",
    threshold=f"{LEAST_RESERVED_BYTES >> 20} MiB that the program may touch, of which less than 10 % were in memory near the peak RSS; or "
    f"{LEAST_CALLS:,} calls whose mappings are unmapped after {SHORT_LIFE_NS // 1_000_000} ms on average, because fewer cost less than a millisecond",
    false_positives="An allocator's own arenas, and buffers that the program touches after the reading. Where the kernel joined mappings of several sites "
    "to one range, their resident bytes are divided by length. Mapped files count as mapped and unmapped, too: git maps its packs. "
    "Without a reading (process.rss_read_ns) nothing is known to be untouched.",
    remedy="Reserve less, or with PROT_NONE; reuse a mapping, or divide one range (Arena).",
    weight="potential",
    sampling="exact",
    tables=("mappings",),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in _SUMS} | {"max_bytes": "max(max_bytes)"},
    shown=f"(accessible_bytes >= {LEAST_RESERVED_BYTES} and resident_bytes < {_TOUCHED_SHARE} * accessible_bytes)"
    f" or (calls >= {LEAST_CALLS} and 2 * unmapped_bytes >= mapped_bytes"
    f" and unmapped_byte_ns < {SHORT_LIFE_NS} * cast(unmapped_bytes as double))",
    order="bytes_peak + bytes_total, calls",
    unit="bytes",
    advise=_advise,
    saves=_saves,
)
