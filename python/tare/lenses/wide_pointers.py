"""Wide pointers: the saving by 4-byte pointers in blocks that are full of 8-byte ones."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.lenses.used_snapshots import USED, to_peak
from tare.text.units import human_bytes, percent

# Null pointers can't be recognized, so that the fullest block of a kind stands for all. If blocks have less than half of its
# pointers on average, only that share is claimed. Words of text that look like pointers filled single blocks of jq's: 313
# KiB were claimed of blocks of 16 bytes in which 0 % of the words were pointers.
# An index can replace a pointer to the start of an object. One into the middle of a block is mostly a container's end or capacity, or a short string's
# own address: of ninja's nodes, half of the pointers were those of std::vector and std::string. So the saving counts in the share of the starts.
# Without a model of the allocator its rounding is unknown: then the decrease of the request is used.
_STARTS = "(1.0 * p.start_pointers / greatest(1, p.start_pointers + p.interior_pointers))"
_CLAIMS = f"""
with {USED},
sized as (
  select u.kind, p.size_id, p.stack_id, p.blocks, p.words, p.start_pointers as pointers,
         p.blocks * (p.requested_bytes - p.packed_bytes) * {_STARTS} as padded,
         least(1, 2.0 * (p.start_pointers + p.interior_pointers) / greatest(1, p.fields * p.blocks)) * {_STARTS}
           * p.blocks * greatest(0, z.gross - coalesce(p.packed_gross_bytes, z.gross - p.requested_bytes + p.packed_bytes)) as saved,
         {to_peak("p.blocks")} as factor
  from pointer_words p join used u on u.snapshot = p.snapshot
  join (select size_id, usable_bytes + header_bytes as gross, peak_blocks from site_sizes) z on z.size_id = p.size_id
),
shaped as (
  select size_id, min(stack_id) as stack_id,
         sum(case when kind = 'peak' then blocks else 0 end) as blocks,
         sum(case when kind = 'peak' then words else 0 end) as words,
         sum(case when kind = 'peak' then pointers else 0 end) as pointers,
         sum(case when kind = 'peak' then padded else 0 end) as padded_bytes,
         sum(case when kind = 'peak' then saved * factor else 0 end) as bytes_peak,
         sum(case when kind = 'exit' then saved else 0 end) as bytes_end
  from sized group by size_id
)
select s.size_id, s.stack_id, s.blocks,
       least(s.bytes_peak, z.gross_peak) as bytes_peak, least(s.bytes_end, z.gross_end) as bytes_end,
       greatest(least(s.bytes_peak, z.gross_peak), least(s.bytes_end, z.gross_end)) as bytes_total,
       case when z.gross_peak > 0 then z.byte_ns * least(1, s.bytes_peak / z.gross_peak) else 0 end as byte_ns,
       z.total_blocks as calls, s.words, s.pointers, s.padded_bytes, z.requested_bytes
from shaped s
join (select size_id, requested_bytes, (usable_bytes + header_bytes) * peak_blocks as gross_peak,
             (usable_bytes + header_bytes) * end_blocks as gross_end, total_blocks, byte_ns from site_sizes) z
  on z.size_id = s.size_id
where s.pointers > 0 or s.bytes_end > 0
"""


_NARROW = Change(
    "Keep the objects in an array, and store indexes of 4 bytes instead of pointers",
    {
        "C++": "Keep the objects in a std::vector, and store indexes of 4 bytes instead of pointers; or store pointers in 4 bytes "
        "(CompressedPtr in tare/compressed_ptr.h for blocks from a Cage, gc::Member for collected objects, Atom for strings)",
        "Rust": "Keep the objects in a Vec, and store u32 indexes instead of Box, Rc or references",
        "Python": "Keep the values in parallel arrays (array.array, NumPy) instead of objects that point to each other",
    },
)


# Of the words of a node. With fewer, a pointer is often one case of a union (16 % in the values of jq), or the object's own address (25 % in
# those of redis).
_LEAST_POINTERS = 1 / 3


def _advise(evidence: Evidence) -> Advice:
    words, pointers = evidence["words"], evidence["pointers"]
    if not pointers:
        return Advice("Nothing to do at the peak; blocks that are live at the exit hold pointers", "low")
    return Advice(
        f"{CHANGE}. {percent(pointers, words, 0)} of the words of this site point to starts of live blocks. Halving them saves "
        f"{human_bytes(4 * pointers)}, after padding {human_bytes(evidence['padded_bytes'])}, and after rounding to size classes "
        f"{human_bytes(evidence['bytes_peak'])}",
        "medium" if pointers >= _LEAST_POINTERS * words else "low",
        change=_NARROW,
    )


def _saves(evidence: Evidence) -> Saving:
    return Saving("a design", evidence["bytes_peak"], exact=False, faults=True)


LENS = Lens(
    name="wide-pointers",
    question="How many words of the heap point to heap blocks, and how much would 4-byte pointers save?",
    why="A heap of up to 4 GiB can be addressed with 4 bytes. Nodes of lists, trees and graphs consist mainly of "
    "pointers.",
    threshold="1 % of gross at the peak, and 4,096 bytes, in blocks of up to 512 bytes, after padding and size classes, "
    "because half of the pointers' bytes is rarely saved (a node of 24 bytes with one pointer still needs 24 "
    "bytes). Larger blocks are arrays, pages or arenas with many kinds of words; on ten real programs none of "
    "these could be saved",
    false_positives="Any word that looks like a pointer counts as one. Null pointers can't be recognized. So the block with most "
    "pointers represents all blocks of a kind of up to 512 bytes, unless the mean is less than half of its number. The amount is too "
    "large if one site allocates several types. Pointers into the middle of blocks don't count, because most belong to containers: a list through "
    "members in the middle of its objects isn't found. Pointers to globals, code and other programs' memory aren't counted. "
    "Types that a library or the kernel defines can't change: the confidence is low for code of a shared library, and where less than a third "
    "of the words are pointers.",
    remedy="Indexes of 4 bytes into an array. Library: CompressedPtr with blocks from a Cage, gc::Member for collected objects, 4-byte Atom "
    "handles for strings.",
    weight="potential",
    sampling="unavailable",
    tables=("site_sizes", "snapshots", "snapshot_sizes", "pointer_words"),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in ("words", "pointers", "padded_bytes")}
    | {"requested_bytes": "max_by(requested_bytes, bytes_peak)"},
    shown="bytes_peak >= greatest(4096, 0.01 * $gross_peak) and requested_bytes <= 512",
    order="bytes_peak, bytes_end",
    unit="bytes",
    advise=_advise,
    saves=_saves,
    needs="snapshots",
)
