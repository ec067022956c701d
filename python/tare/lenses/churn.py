"""Churn: blocks that die at once, over and over at one site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.lenses.call_price import FREE_NS, MALLOC_NS, per_call
from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Effort, Saving, Timed
from tare.text.units import call_duration, exact, human_bytes, human_count, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.lenses.change import Language

# Sizes at which inline storage is usually drawn.
_STEPS = (16, 32, 48, 64)

# Columns of call_costs, and how rows are folded.
_COSTS = {
    "calls": "sum", "winsorized_ns": "sum", "max_ns": "max", "free_calls": "sum", "winsorized_free_ns": "sum", "max_free_ns": "max",
}  # fmt: skip

# The time of a stack's calls is in rows of their own: a join with the shapes would repeat it for each.
_CLAIMS = f"""
with young as (
  select size_id, stack_id, requested_bytes, usable_bytes + header_bytes as gross_bytes,
         peak_blocks, end_blocks, total_blocks, byte_ns, freed_within_16, freed_within_16 + freed_within_64 as dead_young
  from site_sizes
  where api <> 'pool block' -- handing one out is what a pool makes cheap
    and total_blocks > 0
)
select size_id, stack_id, peak_blocks as blocks,
       gross_bytes * peak_blocks as bytes_peak, gross_bytes * end_blocks as bytes_end,
       gross_bytes * dead_young as bytes_total, byte_ns, dead_young as calls,
       requested_bytes, total_blocks, freed_within_16,
       {", ".join(f"0 as timed_{name}" for name in _COSTS)},
       {", ".join(f"case when requested_bytes <= {n} then dead_young else 0 end as fit_{n}" for n in _STEPS)}
from young
union all
select cast(null as bigint), stack_id, 0, 0, 0, 0, 0, 0, 0, 0, 0,
       {", ".join(_COSTS)},
       {", ".join("0" for _ in _STEPS)}
from call_costs
"""


def _cost(evidence: Evidence) -> str:
    """The allocator's time for these blocks; empty if too few calls were timed."""
    parts, each_ns = [], 0.0
    for what, of, least_ns in (("an allocation", "", MALLOC_NS), ("a free", "free_", FREE_NS)):
        timed = evidence[f"timed_{of}calls"]
        mean_ns = per_call(timed, evidence[f"timed_winsorized_{of}ns"], least_ns)
        if mean_ns is None:
            continue
        each_ns += mean_ns
        longest = call_duration(evidence[f"timed_max_{of}ns"])
        parts.append(f"{what} took {call_duration(mean_ns)} here ({exact(timed)} timed, the longest {longest})")
    if not parts:
        return ""
    return f"; {', '.join(parts)}, {call_duration(each_ns * evidence['calls'])} for all, waits for locks aside"


_SAVES = "This saves at least 90% of these mallocs and frees"
# A runtime allocates blocks for its own objects: only another way of writing the line avoids them, and maybe not all.
_MANAGED: Mapping[Language, str] = {
    "Python": "Create fewer temporary objects in this line, or keep one and reuse it: join() or one f-string instead of several +, a "
    "memoryview instead of slices, readinto() a bytearray that is kept, a generator instead of a list that is used once",
    "JavaScript": "Create one Buffer, typed array or native object before the loop and reuse it; Buffer.allocUnsafe() takes buffers below 4 KiB "
    "from Node's pool",
    "Java": "Keep the direct buffer or the native object and reuse it: clear() of a buffer, reset() of Deflater and Inflater",
    "Go": "Pass a pointer to Go memory for the time of the C call instead of a copy (C.CString, C.CBytes, C.malloc), or keep one C buffer and reuse it",
}


def _inline(size: int, alike: bool) -> Change:
    """`alike`: all blocks have one size."""
    reuse = " If blocks outlive the call, keep freed blocks for reuse." if alike else ""
    plain = f"Store up to {size} bytes in the object or on the stack, and only more on the heap"
    return Change(
        f"{plain}.{reuse} {_SAVES}",
        {
            "C": f"Use an array of {size} bytes on the stack or in the struct, and call malloc only for more.{reuse} {_SAVES}",
            "C++": f"{plain} (for text: tare::TextStream).{reuse} {_SAVES}",
            "Rust": f"Store up to {size} bytes inline (SmallVec or ArrayVec), or reuse one Vec or String: clear() keeps its capacity. {_SAVES}",
            **_MANAGED,
        },
    )


def _one_block(size: str) -> Change:
    plain = f"Keep one block of {size} bytes and reuse it, or embed it in its owner. {_SAVES}"
    return Change(
        plain,
        {
            "C": f"Keep one block of {size} bytes and reuse it, or make it a member of its owner. {_SAVES}",
            "C++": f"Keep one block of {size} bytes and reuse it, or make it a member of its owner. {_SAVES}",
            "Rust": f"Keep one object of {size} bytes and reuse it (clear() keeps the capacity of a Vec or String), or store it by value in its owner. {_SAVES}",
            **_MANAGED,
        },
    )


# Blocks of at least that size may be an arena's own chunks, as those of PostgreSQL's memory contexts: no arena helps.
_CHUNK_BYTES = 1024
_KEPT = Change(
    "Keep one buffer and reuse it, or keep freed ones for reuse",
    {
        "C++": "Reuse one std::string or std::vector (clear() keeps its capacity), or keep freed buffers for reuse (tare::Buffer, tare::TextStream::reset)",
        "Rust": "Reuse one Vec or String (clear() keeps its capacity), or keep freed buffers for reuse",
        **_MANAGED,
    },
)
_REUSED = Change(
    "Reuse one buffer, or allocate from an arena that is reset after use",
    {
        "C": "Keep one buffer and reuse it, or allocate from an arena (obstack) that is reset after use",
        "C++": "Reuse one std::string or std::vector (clear() keeps its capacity), or allocate from an arena that is reset after use "
        "(tare::Buffer, tare::TextStream::reset, tare::Arena)",
        "Rust": "Reuse one Vec or String (clear() keeps its capacity), or allocate from an arena that is reset after use (the crate bumpalo)",
        **_MANAGED,
    },
)


def _advise(evidence: Evidence) -> Advice:
    calls = evidence["calls"]
    young = (
        f"{human_count(calls)} blocks were freed within 64 allocations ({percent(evidence['freed_within_16'], calls, 0)} within 16)"
        f"{_cost(evidence)}"
    )
    for size in _STEPS:
        if evidence[f"fit_{size}"] >= 0.9 * calls:
            telling = [n for n in _STEPS if n <= size or evidence[f"fit_{n}"] > evidence[f"fit_{size}"]]
            shares = ", ".join(f"{percent(evidence[f'fit_{n}'], calls, 0)} fit {n}" for n in telling)
            alike = evidence["commonest_blocks"] >= 0.9 * evidence["total_blocks"]
            return Advice(f"{CHANGE}: {young}; {shares} bytes", "high", change=_inline(size, alike))
    if evidence["commonest_blocks"] >= 0.9 * evidence["total_blocks"]:
        return Advice(f"{CHANGE}: {young}", "high", change=_one_block(exact(evidence["commonest_bytes"])))
    return Advice(
        f"{CHANGE}: {young}; the largest has {human_bytes(evidence['largest_bytes'])}",
        "medium",
        change=_KEPT if evidence["smallest_bytes"] >= _CHUNK_BYTES else _REUSED,
    )


def _saves(evidence: Evidence) -> Saving:
    inline = any(evidence[f"fit_{size}"] >= 0.9 * evidence["calls"] for size in _STEPS)
    effort: Effort = "a type" if inline else "one function"
    timed = Timed(*(evidence[f"timed_{name}"] for name in Timed._fields))
    return Saving(effort, 0.0, calls=evidence["calls"], frees=evidence["calls"], timed=timed)


LENS = Lens(
    name="churn",
    question="Which sites allocate blocks that are freed at once?",
    why="Each such block costs a malloc, a free and often a copy. Its bytes could be on the stack, or in a reused "
    "block.",
    threshold="at least 1,000 blocks and 1 % of all calls, and 90 % of the site's blocks freed within 64 allocations. Lower"
    " limits list the sites with most calls, without a remedy",
    false_positives="Allocations inside a library without an alternative. The cost is sampled: one call in a few thousand, the "
    "first one 0.2 to 0.5 ms after the last, which has colder caches than its neighbours.",
    remedy="Storage inside the object for small blocks, one reused block for equal sizes, otherwise a reused buffer or an arena. Objects of "
    "a runtime: fewer temporary ones. Library: TextStream, Buffer, Arena.",
    weight="potential",
    sampling="scaled",
    tables=("site_sizes", "call_costs"),
    claims=_CLAIMS,
    evidence={f"fit_{n}": f"sum(fit_{n})" for n in _STEPS}
    | {f"timed_{name}": f"{fold}(timed_{name})" for name, fold in _COSTS.items()}
    | {
        "freed_within_16": "sum(freed_within_16)",
        "total_blocks": "sum(total_blocks)",
        "largest_bytes": "max(requested_bytes)",
        "smallest_bytes": "min(case when size_id is not null then requested_bytes end)",
        "commonest_bytes": "max_by(requested_bytes, total_blocks)",
        "commonest_blocks": "max(total_blocks)",
    },
    shown="calls >= 1000 and calls >= 0.01 * $calls_total and calls >= 0.9 * total_blocks",
    order="calls, byte_ns",
    unit="calls",
    facts=("order",),
    advise=_advise,
    saves=_saves,
    guide="13-churn",
)
