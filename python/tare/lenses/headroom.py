"""Headroom: capacity that buffers keep when they have stopped growing."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.growing import GROWING
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import MAPPED_APART_BYTES, Saving
from tare.lenses.used_snapshots import ENOUGH_BLOCKS, USED
from tare.text.units import human_bytes, percent, plural

# `written` has the unwritten ends of ended blocks, and of blocks live at the exit as if they ended then. They are
# `unwritten`'s tare already, so that this is shown beside it. A block that grew was written: its mark of 0 means a large
# block full of zeros, in which written zeros can't be distinguished from fresh ones (Lua's table of strings after all
# have gone).
# A buffer that was written since the snapshot before the one nearest the peak may still grow there, so that shrinking it returns nothing: the lists of
# a Tcl script did. A buffer of which no earlier snapshot was made has no such date. It counts as the dated ones of its size do, if these are enough:
# of guide pair 14, all 1,117 dated lists still grew, and 883 had just moved to their last block. Otherwise it counts as finished.
_CLAIMS = f"""
with {USED},
{GROWING},
changing as (
  select b.size_id, sum(b.blocks) as blocks, sum(case when b.last_write_ns is null then 0 else b.blocks end) as dated,
         sum(case when b.last_write_ns >= m.time_ns then b.blocks else 0 end) as changed
  from snapshot_sizes b join used u on u.snapshot = b.snapshot join snapshots m on m.snapshot = b.snapshot
  where u.kind = 'peak' group by b.size_id
),
busy as (
  select size_id, 1.0 * changed / case when dated >= {ENOUGH_BLOCKS} or 2 * dated >= blocks then dated else blocks end as share from changing
),
kept as (
  select b.size_id, sum(b.unwritten_bytes) as bytes, sum(b.written_blocks) as blocks
  from snapshot_sizes b join snapshots m on m.snapshot = b.snapshot
  where m.kind = 'exit' and b.written_blocks > 0
  group by b.size_id
),
ended as (
  select size_id, sum(unwritten_peak_bytes) as at_peak, sum(unwritten_total_bytes) as in_all, sum(partly_blocks) as blocks
  from written where max_high_water_bytes > 0 group by size_id
)
select z.size_id, z.stack_id, z.peak_blocks as blocks,
       coalesce(e.at_peak, 0) as bytes_peak, coalesce(k.bytes, 0) as bytes_end, coalesce(e.in_all, 0) as bytes_total,
       case when z.total_blocks > 0
            then z.byte_ns * least(1, coalesce(e.in_all, 0) / ((z.usable_bytes + z.header_bytes) * z.total_blocks)) else 0 end as byte_ns,
       z.total_blocks as calls, z.requested_bytes * z.peak_blocks as requested_peak, z.requested_bytes,
       coalesce(e.blocks, 0) as loose, coalesce(e.at_peak, 0) * coalesce(b.share, 0) as busy_peak
from site_sizes z join growing g on g.stack_id = z.stack_id left join busy b on b.size_id = z.size_id
left join kept k on k.size_id = z.size_id left join ended e on e.size_id = z.size_id
where (k.bytes > 0 or e.in_all > 0) and z.inherited = 0
"""


_SHRUNK = Change(
    "Shrink it once after it has stopped growing, or allocate the final size if it is known",
    {
        "C": "Call realloc() with the used size once after it has stopped growing, or allocate the final size if it is known",
        "C++": "Call shrink_to_fit() once after it has stopped growing, or reserve() the size if it is known (tare::Buffer has both)",
        "Rust": "Call shrink_to_fit() or into_boxed_slice() (text: into_boxed_str()) once after it has stopped growing, or with_capacity() if the size is known",
        "Python": "Copy it once when it is complete (tuple(x), bytes(x), x[:]), because the copy has no spare capacity, or create it with its final "
        "size if that is known",
        "JavaScript": "Copy the used part once when it is complete (Buffer.from(view)), or allocate the final size if it is known",
        "Go": "Call C.realloc with the used size once after it has stopped growing, or allocate the final size if it is known",
    },
)


def _advise(evidence: Evidence) -> Advice:
    peak, requested = evidence["bytes_peak"], evidence["requested_peak"]
    busy = evidence["busy_peak"]
    growing = f". {human_bytes(busy)} of that is in buffers that were still written near the peak" if busy >= 1 else ""
    return Advice(
        f"{CHANGE}: {percent(peak, requested, 0)} of the bytes of these buffers at the peak, {human_bytes(peak)}, were never written; "
        f"{plural(evidence['loose'], 'buffer')} had unused capacity at the end, the largest of "
        f"{human_bytes(evidence['requested_bytes'])}{growing}",
        "high" if 4 * peak >= requested else "medium",
        change=_SHRUNK,
    )


def _saves(evidence: Evidence) -> Saving:
    """Of buffers that have stopped growing. The unused end of a block that the allocator maps apart was never resident."""
    whole, apart = (evidence["bytes_peak"] or 0.0) - evidence["busy_peak"], evidence["apart_peak"]
    return Saving("one line", whole - apart, exact=False, untouched_bytes=apart)


LENS = Lens(
    name="headroom",
    question="Which buffers keep capacity after their growth has ended?",
    why="A buffer that doubles has a third of its capacity unused on average, for as long as it lives.",
    threshold="1 % of gross at the peak or at the end, and 4,096 bytes, because shrinking costs a copy",
    false_positives="Spare capacity that was written as scratch memory counts as used: of augeas' sets of nodes, 0.6 MiB were named and "
    "5.1 MiB returned. A buffer that is reused and grows to the same size again. No gain is predicted for buffers that a "
    "snapshot found written near the peak, because they may still grow, nor for as large a share of those that the snapshot before doesn't have. A program may write the fill value itself. A "
    "sampled recording finds growth only for blocks of at least an eighth of its sample distance.",
    remedy="Shrink once after growth, reserve the known size, or grow by a smaller factor if most buffers stop early. "
    "Library: Buffer does all three.",
    weight="potential",
    sampling="scaled",
    tables=("site_sizes", "growth", "written", "snapshots", "snapshot_sizes"),
    claims=_CLAIMS,
    evidence={
        "requested_peak": "sum(requested_peak)",
        "loose": "sum(loose)",
        "requested_bytes": "max(requested_bytes)",
        "busy_peak": "sum(busy_peak)",
        "apart_peak": f"sum(case when requested_bytes >= {MAPPED_APART_BYTES} then bytes_peak - busy_peak else 0 end)",
    },
    shown="bytes_peak >= greatest(4096, 0.01 * $gross_peak) or bytes_end >= greatest(4096, 0.01 * $gross_end)",
    order="bytes_peak, bytes_end, byte_ns",
    unit="bytes",
    advise=_advise,
    saves=_saves,
    needs="contents",
    guide="14-headroom",
)
