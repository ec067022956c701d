"""Live at exit: what still stands when the recording ends."""

from __future__ import annotations

from tare.lenses.lens import Advice, Evidence, Lens
from tare.units import human_bytes, percent, plural

_CLAIMS = """
select shape_id, stack_id, peak_blocks as blocks,
       (usable_bytes + header_bytes) * peak_blocks as bytes_peak, (usable_bytes + header_bytes) * end_blocks as bytes_end,
       (usable_bytes + header_bytes) * total_blocks as bytes_total, byte_ns, total_blocks as calls,
       end_blocks, total_blocks
from site_sizes
"""


def _advise(evidence: Evidence) -> Advice:
    blocks, calls = evidence["end_blocks"], evidence["total_blocks"]
    share = percent(blocks, max(blocks, calls), 0)
    return Advice(
        "Record twice the work and `tare diff`: a leak grows with it, what is made once is harmless. "
        f"{plural(blocks, 'block was', 'blocks were')} never freed, {human_bytes(evidence['bytes_end'])} ({share} of those allocated here)",
        "medium" if blocks > 100 and blocks >= 0.5 * calls else "low",
    )


LENS = Lens(
    name="live-at-exit",
    question="Which blocks are live when the recording ends?",
    why="Leaks are among them, together with blocks that the exit would have freed.",
    threshold="sites with at least 1 % of gross at the end, and 4,096 bytes; the records list all sites",
    false_positives="Caches, globals, and programs that leave freeing to the kernel. This lens doesn't check whether a block is "
    "reachable.",
    remedy="Compare two recordings of different length: sites that grow with the work are leaks.",
    weight="potential",
    sampling="scaled",
    tables=("site_sizes",),
    claims=_CLAIMS,
    evidence={"end_blocks": "sum(end_blocks)", "total_blocks": "sum(total_blocks)"},
    shown="bytes_end >= greatest(4096, 0.01 * $gross_end)",
    order="bytes_end, byte_ns",
    unit="end",
    advise=_advise,
    guide="06-recycling-cache",
)
