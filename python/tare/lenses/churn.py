"""Churn: blocks that die at once, over and over at one site."""

from __future__ import annotations

from tare.lenses.lens import Advice, Evidence, Lens
from tare.units import call_duration, exact, human_count, percent

# Sizes at which inline storage is usually drawn.
_STEPS = (16, 32, 48, 64)

# What a stack's timed calls took is told once, by its first shape.
_CLAIMS = f"""
with young as (
  select shape_id, stack_id, requested_bytes, usable_bytes + header_bytes as gross_bytes,
         peak_blocks, end_blocks, total_blocks, byte_ns, freed_within_16, freed_within_16 + freed_within_64 as dead_young,
         row_number() over (partition by stack_id order by shape_id) as turn
  from site_sizes
  where api <> 'pool block' -- handing one out is what a pool makes cheap
    and total_blocks > 0
),
costs as (
  select stack_id, 1 as turn, sum(calls) as calls, sum(ns) as ns, max(most_ns) as most_ns from call_costs group by stack_id
)
select y.shape_id, y.stack_id, peak_blocks as blocks,
       gross_bytes * peak_blocks as bytes_peak, gross_bytes * end_blocks as bytes_end,
       gross_bytes * dead_young as bytes_total, byte_ns, dead_young as calls,
       requested_bytes, total_blocks, freed_within_16,
       coalesce(c.calls, 0) as timed_calls, coalesce(c.ns, 0) as timed_ns, coalesce(c.most_ns, 0) as timed_most_ns,
       {", ".join(f"case when requested_bytes <= {n} then dead_young else 0 end as fit_{n}" for n in _STEPS)}
from young y left join costs c on c.stack_id = y.stack_id and c.turn = y.turn
"""
# Timed calls of a site below which their mean says nothing.
_LEAST_TIMED = 8


def _cost(evidence: Evidence) -> str:
    """What the allocator takes for these blocks; empty where too few calls were timed."""
    timed = evidence["timed_calls"]
    if timed < _LEAST_TIMED:
        return ""
    mean_ns = evidence["timed_ns"] / timed
    return (
        f"; an allocation took {call_duration(mean_ns)} here, {call_duration(mean_ns * evidence['calls'])} for all, waiting for locks "
        f"included ({exact(timed)} timed, the longest {call_duration(evidence['timed_most_ns'])})"
    )


def _advise(evidence: Evidence) -> Advice:
    calls = evidence["calls"]
    young = (
        f"{human_count(calls)} blocks died within 64 allocations ({percent(evidence['freed_within_16'], calls, 0)} within 16)"
        f"{_cost(evidence)}"
    )
    for size in _STEPS:
        if evidence[f"fit_{size}"] >= 0.9 * calls:
            telling = [n for n in _STEPS if n <= size or evidence[f"fit_{n}"] > evidence[f"fit_{size}"]]
            shares = ", ".join(f"{percent(evidence[f'fit_{n}'], calls, 0)} fit {n}" for n in telling)
            alike = evidence["commonest_blocks"] >= 0.9 * evidence["total_blocks"]
            reuse = "; where they outlive the call, keep freed ones for the next" if alike else ""
            return Advice(
                f"Keep {size} bytes in the object or on the stack (heap only past that; tare::TextStream for text{reuse}), which saves nearly all of these mallocs and frees: {young}; {shares} bytes",
                "high",
            )
    if evidence["commonest_blocks"] >= 0.9 * evidence["total_blocks"]:
        return Advice(
            f"Keep one block of {exact(evidence['commonest_bytes'])} bytes and reuse it, or embed it in its owner, which saves "
            f"nearly all of these mallocs and frees: {young}",
            "high",
        )
    return Advice(
        f"Clear and reuse one buffer instead of a new one each time (tare::Buffer, TextStream::reset), or take them from a "
        f"tare::Arena that is reset when they are done with: {young}, of up to "
        f"{exact(evidence['largest_bytes'])} bytes",
        "medium",
    )


LENS = Lens(
    name="churn",
    question="Which sites make blocks that die at once?",
    why="Each such block costs a malloc, a free and often a copy, for bytes that could have lain on the stack or been reused.",
    threshold="at least 1,000 blocks and 1 % of all calls, 90 % of the site's blocks dead within 64 allocations: below, the "
    "list is that of the hottest sites and says nothing to do",
    false_positives="Allocations inside a library that offers no other way. The cost is that of the allocations, sampled: one in some thousand, "
    "by the first call after a quarter of a millisecond, which finds colder caches than its neighbours; what freeing costs isn't measured.",
    remedy="Inline storage for small ones (TextStream for text), one reused block for equal sizes, a reused Buffer or an Arena "
    "otherwise.",
    weight="potential",
    sampling="scaled",
    tables=("site_sizes", "call_costs"),
    claims=_CLAIMS,
    evidence={f"fit_{n}": f"sum(fit_{n})" for n in _STEPS}
    | {
        "timed_calls": "sum(timed_calls)",
        "timed_ns": "sum(timed_ns)",
        "timed_most_ns": "max(timed_most_ns)",
        "freed_within_16": "sum(freed_within_16)",
        "total_blocks": "sum(total_blocks)",
        "largest_bytes": "max(requested_bytes)",
        "commonest_bytes": "max_by(requested_bytes, total_blocks)",
        "commonest_blocks": "max(total_blocks)",
    },
    shown="calls >= 1000 and calls >= 0.01 * $calls_total and calls >= 0.9 * total_blocks",
    order="calls, byte_ns",
    unit="calls",
    advise=_advise,
    guide="13-churn",
)
