"""Slop: what the allocator adds to a request because no size class fits it."""

from __future__ import annotations

from tare.lenses.lens import Advice, Evidence, Lens
from tare.units import exact, human_bytes

# Clownshoes: a request just above a size class, so that slop is a large share of the block (2^k + header is the classic).
# "Just above": by at most 1/8 of that class, because a header on a 512-byte arena chunk is some 40 bytes (8 %), while
# 680 -> 1024 (33 % over 512) is an object of that size and nobody's mistake. "Large": at least a fifth of the block and
# at least a cache line, so that 24 -> 32 and 72 -> 80 aren't called names.
CLOWNSHOE = """class_below_bytes > 0 and requested_bytes - class_below_bytes <= class_below_bytes / 8
      and usable_bytes - requested_bytes >= 64 and 5 * (usable_bytes - requested_bytes) >= usable_bytes"""

# The shape that speaks for a site: of the worst kind, then the one with most slop at the peak.
_WORST = "1e15 * kind + bytes_peak + bytes_total / 1e6"

_CLAIMS = f"""
with growing as (
  select stack_id, max(slow_steps) as slow_steps from chains group by stack_id
),
sized as (
  select z.shape_id, z.stack_id, z.requested_bytes, z.usable_bytes, z.header_bytes,
         z.peak_blocks, z.end_blocks, z.total_blocks, z.byte_ns,
         z.usable_bytes - z.requested_bytes as slop_bytes, c.class_below_bytes, g.stack_id as growing_stack_id
  from site_sizes z
  left join size_classes c on c.requested_bytes = z.requested_bytes
  left join growing g on g.stack_id = z.stack_id
  where z.usable_bytes > z.requested_bytes
)
select shape_id, stack_id, peak_blocks as blocks,
       slop_bytes * peak_blocks as bytes_peak, slop_bytes * end_blocks as bytes_end,
       slop_bytes * total_blocks as bytes_total,
       byte_ns * slop_bytes / (usable_bytes + header_bytes) as byte_ns, total_blocks as calls,
       requested_bytes, usable_bytes, class_below_bytes,
       case when {CLOWNSHOE} then 2 when growing_stack_id is not null then 1 else 0 end as kind
from sized
"""


def _advise(evidence: Evidence) -> Advice:
    requested, usable = round(evidence["requested_bytes"]), round(evidence["usable_bytes"])
    blocks = "" if evidence["blocks"] < 1 else f", {human_bytes(evidence['avoidable_peak'])} at the peak"
    below = evidence["class_below_bytes"]
    if evidence["kind"] == 2:
        return Advice(
            f"Ask for {exact(below)} bytes instead of {exact(requested)}, which take {exact(usable)}: take the header out of "
            f"the payload, or use all that is given. Saves {exact(usable - below)} a block{blocks}",
            "high",
            "clownshoe",
        )
    if evidence["kind"] == 1:
        return Advice(
            f"Grow to a size class and use what is given as capacity (tare::Buffer does): this buffer asks for "
            f"{exact(requested)} bytes and is given {exact(usable)}{blocks}",
            "medium",
        )
    shrink = f"; {exact(requested - below)} bytes less would fit {exact(below)}" if below else ""
    return Advice(
        f"Unavoidable unless the object changes: {exact(requested)} bytes take {exact(usable)}{shrink}", "low"
    )


LENS = Lens(
    name="slop",
    question="Which requests don't fit a size class of this allocator?",
    why="The allocator rounds every request up to a size class; the rest is paid for and never asked for.",
    threshold="0.1 % of gross at the peak where the caller can choose the size (a clownshoe, a growing buffer), 1 % where not: "
    "below, or below a page, fixing it wouldn't move the total",
    false_positives="A program that asks malloc_usable_size and uses all of it has no slop in truth.",
    remedy="Ask for a size class: fold the header into the power of two, grow buffers to what the allocator gives.",
    weight="tare",
    sampling="scaled",
    tables=("site_sizes", "size_classes", "chains"),
    claims=_CLAIMS,
    evidence={
        "kind": "max(kind)",
        "requested_bytes": f"max_by(requested_bytes, {_WORST})",
        "usable_bytes": f"max_by(usable_bytes, {_WORST})",
        "class_below_bytes": f"max_by(class_below_bytes, {_WORST})",
        "avoidable_peak": "sum(case when kind > 0 then bytes_peak else 0 end)",
        "avoidable_total": "sum(case when kind > 0 then bytes_total else 0 end)",
    },
    shown="avoidable_peak >= greatest(4096, 0.001 * $gross_peak) or bytes_peak >= greatest(4096, 0.01 * $gross_peak)",
    order="least(kind, 1), bytes_peak, byte_ns",
    unit="bytes",
    advise=_advise,
)
