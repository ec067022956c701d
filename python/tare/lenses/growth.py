"""Growth: buffers that grow in small steps, and copy themselves again and again."""

from __future__ import annotations

import math

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Confidence, Evidence, Lens
from tare.lenses.saving import MAPPED_APART_BYTES, Saving
from tare.text.units import exact, human_bytes, human_count, percent, plural

# Sums of `growth`; a stack that grows by realloc and by hand is one claim.
_SUMS = (
    "grown_blocks", "steps", "slow_steps", "in_place_steps", "copied_bytes", "doubling_copied_bytes", "requested_bytes",
    "rounded_4k_bytes", "doubling_bytes",
)  # fmt: skip

_LEAST_COPIED_BYTES = 65536

_CLAIMS = f"""
with grown as (
  select stack_id, max_by(kind, steps) as kind, sum(peak_blocks) as peak_blocks, max(max_requested_bytes) as max_requested_bytes,
         {", ".join(f"sum({name}) as {name}" for name in _SUMS)}
  from growth group by stack_id
),
held as (
  select stack_id, sum((usable_bytes + header_bytes) * peak_blocks) as bytes_peak,
         sum((usable_bytes + header_bytes) * end_blocks) as bytes_end, sum(byte_ns) as byte_ns
  from site_sizes group by stack_id
)
select cast(null as bigint) as size_id, g.stack_id, g.peak_blocks as blocks, h.bytes_peak, h.bytes_end,
       greatest(g.copied_bytes - g.doubling_copied_bytes, 0) as bytes_total, h.byte_ns, g.steps as calls,
       g.kind, g.max_requested_bytes, {", ".join(f"g.{name}" for name in _SUMS)}
from grown g left join held h on h.stack_id = g.stack_id
"""


_DOUBLED = Change(
    "Double the capacity, or allocate the final size at once if it is known",
    {
        "C": "Double the capacity at each realloc, or allocate the final size at once if it is known",
        "C++": "Double the capacity, or reserve() the final size once if it is known (tare::Buffer)",
        "Rust": "Use reserve(), which doubles, instead of reserve_exact(), or with_capacity() if the final size is known",
        "Python": "Create it with its final size if that is known ([None] * n, bytearray(n)), or collect the parts in a list and join() them once "
        "instead of += in a loop",
        "JavaScript": "Collect the parts in an array and call Buffer.concat() once, or allocate the final size if it is known",
        "Go": "Collect the parts in a Go slice (append() doubles) and copy it to C once, or double the capacity at each C.realloc",
    },
)


def _advise(evidence: Evidence) -> Advice:
    steps, chains = evidence["steps"], evidence["grown_blocks"]
    how = "reallocs" if evidence["kind"] == "realloc" else "rounds of malloc, copy and free"
    copied, ideal = evidence["copied_bytes"], evidence["doubling_copied_bytes"]
    sure: Confidence
    amount = ""
    if copied > 4 * ideal + _LEAST_COPIED_BYTES and steps >= 2 * chains:
        cost = f"this copied {human_bytes(copied)}; doubling copies {human_bytes(ideal)}"
        sure = "high" if evidence["kind"] == "realloc" else "medium"
    else:
        cost = f"{percent(evidence['in_place_steps'], steps, 0)} of the steps copied nothing, so the cost is the calls"
        sure = "medium" if evidence["kind"] == "realloc" else "low"
        amount = f"{human_count(steps)} steps"
    return Advice(
        f"{CHANGE}: {plural(max(chains, 1), 'buffer')} grew up to {human_bytes(evidence['max_requested_bytes'])} in "
        f"{exact(steps)} {how}, {percent(evidence['slow_steps'], steps, 0)} of them by less than 1.2x; {cost}; all requests "
        f"add up to {exact(evidence['requested_bytes'])} bytes ({exact(evidence['rounded_4k_bytes'])} rounded to 4 KiB), with "
        f"doubling to {exact(evidence['doubling_bytes'])}",
        sure,
        amount=amount,
        change=_DOUBLED,
    )


def _saves(evidence: Evidence) -> Saving:
    """The steps beyond those of doubling. glibc's realloc remaps large blocks instead of copying them."""
    steps, chains, largest = evidence["steps"], evidence["grown_blocks"], evidence["max_requested_bytes"] or 0
    calls = max(0.0, steps - max(chains, 1.0) * math.log2(2.0 + largest))
    copied = evidence["bytes_total"] or 0.0
    if evidence["kind"] == "realloc":
        in_place = calls * min(1.0, (evidence["in_place_steps"] or 0.0) / steps) if steps else 0.0
        return Saving(
            "one line",
            reallocs=in_place,
            moving_reallocs=calls - in_place,
            copied_bytes=copied * min(1.0, (MAPPED_APART_BYTES / max(largest, 1)) ** 2),
        )
    return Saving("one line", calls=calls, frees=calls, copied_bytes=copied)


LENS = Lens(
    name="growth",
    question="Which buffers grow by less than about 1.2x a step, and how much does the copying cost?",
    why="Growth by a constant copies n² bytes. Doubling copies at most the final size. Each step also costs allocator"
    " calls.",
    threshold="more than half of the steps below 1.2x, and either more than 4 times the copied bytes of doubling with at "
    "least two steps a buffer, or more than 4 times its steps and at least 100. Lower limits list sites that grow"
    " twice, or copy a text once. If all but 100 steps stayed in place, they need to be 1 % of all calls",
    false_positives="Large blocks that realloc moves by remapping pages aren't copied, but count as copied. A sampled recording "
    "shows growth by malloc, copy and free only for blocks of at least an eighth of its sample distance.",
    remedy="Grow by a factor, or allocate once if the final size is known. Library: Buffer does both; TextStream for text.",
    weight="potential",
    sampling="scaled",
    tables=("growth", "site_sizes"),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in _SUMS}
    | {"max_requested_bytes": "max(max_requested_bytes)", "kind": "max_by(kind, steps)"},
    # One step a buffer is no way of growing: SQLite, that builds a text and copies it into a value of its size, was taken for it.
    shown="slow_steps > 0.5 * steps and ((copied_bytes > 4 * doubling_copied_bytes"
    f" + {_LEAST_COPIED_BYTES} and steps >= 2 * grown_blocks)"
    " or (steps >= 100 and steps > 4 * greatest(grown_blocks, 1) * log2(2.0 + max_requested_bytes)"
    " and (steps - in_place_steps >= 100 or steps >= 0.01 * $calls_total)))",
    order="bytes_total + 64 * calls, byte_ns",
    unit="copied",
    facts=("order",),
    advise=_advise,
    saves=_saves,
    guide="02-just-enough-growth",
)
