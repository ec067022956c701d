"""Leaks: blocks that nothing points to any more."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.lenses.used_snapshots import ENOUGH_BLOCKS, USED, to_peak
from tare.text.units import human_bytes, human_count, percent, plural

# A leaked block is found at the exit, and in the snapshot near the peak if it had leaked by then. A block that only
# other leaked blocks point to hangs on the unreachable one, and is claimed at that one's site: there the last pointer
# was lost. A shape is claimed once, at the root that most of its bytes hang on.
# Blocks that a pointer led to at the snapshot near the peak hadn't leaked by then: freeing them would not have lowered the peak.
# `old_blocks` are lost at the exit and unchanged since that snapshot, so that they are the same blocks. Ruby and Perl unmap their own heaps before they exit, and with these the last pointers to 11 MiB of blocks.
_LEAST_UNMAPPED = 65536
_CLAIMS = f"""
with {USED},
looked as (
  select u.snapshot, s.time_ns from used u join snapshots s on s.snapshot = u.snapshot where u.kind = 'peak' and s.kind = 'peak'
),
-- A snapshot after the peak may fall into such a teardown: of Ruby, 9 MiB of mappings were gone by then, and a third of its strings lost.
torn as (
  select coalesce(max(t.mapped_bytes) - max_by(t.mapped_bytes, t.time_ns), 0) as unmapped_bytes
  from timeline t join looked m on t.time_ns <= m.time_ns join process p on t.time_ns >= p.peak_time_ns
),
near_peak as (
  select b.size_id, sum(b.blocks) as held, sum(case when b.reachable = 'no' then b.blocks else 0 end) as lost
  from snapshot_sizes b join looked m on m.snapshot = b.snapshot where b.reachable is not null group by b.size_id
),
lost as (
  select m.kind, b.size_id, b.leak_stack_id as stack_id, b.blocks, b.leak_roots,
         (b.usable_bytes + b.header_bytes) * b.blocks as bytes,
         case when m.kind = 'exit' and b.last_write_ns <= (select max(time_ns) from looked) then b.blocks else 0 end as old_blocks
  from snapshot_sizes b join used m on m.snapshot = b.snapshot
  where b.reachable = 'no' and b.leak_stack_id is not null
),
by_root as (
  select size_id, stack_id, sum(bytes) as bytes,
         sum(case when kind = 'peak' then bytes else 0 end) as bytes_peak,
         sum(case when kind = 'exit' then bytes else 0 end) as bytes_end,
         sum(case when kind = 'peak' then blocks else 0 end) as peak_blocks,
         sum(case when kind = 'exit' then blocks else 0 end) as end_blocks,
         sum(case when kind = 'exit' then leak_roots else 0 end) as roots, sum(old_blocks) as old_blocks
  from lost group by size_id, stack_id
),
shaped as (
  select size_id, max_by(stack_id, bytes) as stack_id, sum(bytes_peak) as bytes_peak, sum(bytes_end) as bytes_end,
         sum(peak_blocks) as peak_blocks, sum(end_blocks) as end_blocks, sum(roots) as roots,
         sum(old_blocks) as old_blocks
  from by_root group by size_id
),
-- Of a shape that the snapshot near the peak has too few of, a leaked block lives from its allocation to the exit: as far as the blocks of
-- its shape lived at the peak, leaked ones did.
scaled as (
  select d.*,
         case when h.held >= {ENOUGH_BLOCKS} or 2 * h.held >= z.peak_blocks then d.bytes_peak * {to_peak("h.held")}
              else greatest(d.bytes_peak, case when z.end_blocks > 0 then d.bytes_end * least(1, 1.0 * z.peak_blocks / z.end_blocks) else 0 end)
         end as at_peak,
         greatest(0, d.old_blocks - coalesce(h.lost, 0)) as led_to,
         case when w.unmapped_bytes >= greatest({_LEAST_UNMAPPED}, 0.5 * (select sum(bytes) from lost where kind = 'peak'))
              then w.unmapped_bytes else 0 end as torn_bytes
  from shaped d left join torn w on 1 = 1 join site_sizes z on z.size_id = d.size_id left join near_peak h on h.size_id = d.size_id
)
select s.size_id, s.stack_id, s.peak_blocks as blocks,
       least(s.at_peak, z.gross_peak) as bytes_peak, least(s.bytes_end, z.gross_end) as bytes_end,
       least(s.bytes_end, z.gross_end) as bytes_total,
       case when z.gross_end > 0 then z.byte_ns * least(1, s.bytes_end / z.gross_end) else 0 end as byte_ns,
       z.total_blocks as calls, s.end_blocks, s.roots, case when s.roots > 0 then z.total_blocks else 0 end as root_calls,
       s.led_to, s.torn_bytes
from scaled s
join (select size_id, (usable_bytes + header_bytes) * peak_blocks as gross_peak,
             (usable_bytes + header_bytes) * end_blocks as gross_end, total_blocks, byte_ns from site_sizes) z
  on z.size_id = s.size_id
"""


_FREED = Change(
    "Free it before its last pointer is dropped",
    {
        "C++": "Free it before its last pointer is dropped, or let a std::unique_ptr hold it",
        "Rust": "Drop it: look for Box::leak(), mem::forget(), into_raw() without from_raw(), and cycles of Rc, which a Weak breaks",
        "Python": "Native code that this line calls loses it: close the object that it belongs to, or report the leak to the authors of the extension module",
        "JavaScript": "Native code that this line calls loses it: close the object that it belongs to, or report the leak to the authors of the addon",
        "Java": "Native code that this method calls loses it: close the object that it belongs to (close(), or end() of Deflater and Inflater)",
        "Go": "Call C.free before its last pointer is dropped: Go's collector doesn't free memory of C.malloc and C.CString",
    },
)


# From this share of the blocks on, they were lost after the peak. The rest may be younger than the snapshot: 27 % of Ruby's strings were.
_LED_TO = 0.5


def _advise(evidence: Evidence) -> Advice:
    roots, blocks, calls = evidence["roots"], evidence["end_blocks"], evidence["root_calls"]
    if not blocks:
        return Advice(
            "Nothing to do: no pointer led to these at the peak, but they were reachable or freed at the exit", "low"
        )
    if evidence["led_to"] >= _LED_TO * blocks:
        return Advice(
            f"{CHANGE}, if the program still runs when it is lost: at the exit, no pointer leads to {human_bytes(evidence['bytes_end'])} of this site, "
            f"but near the peak one led to {human_count(evidence['led_to'])} of the {plural(blocks, 'block')}. A runtime that unmaps its own "
            "heap before the exit loses all pointers in it, which is harmless",
            "low",
            change=_FREED,
        )
    if evidence["torn_bytes"]:
        return Advice(
            f"{CHANGE}, if the program still runs when it is lost: at the exit, no pointer leads to {human_bytes(evidence['bytes_end'])} of this site. "
            f"But between the peak and the snapshot after it, {human_bytes(evidence['torn_bytes'])} of mappings were unmapped, and with them maybe the "
            "pointers. A runtime that unmaps its own heap before the exit loses all pointers in it, which is harmless",
            "low",
            change=_FREED,
        )
    hanging = blocks - roots
    also = f", and {plural(hanging, 'block is', 'blocks are')} reachable only from these" if hanging > 0 else ""
    return Advice(
        f"{CHANGE}: no pointer leads to {plural(roots, 'block')} of this site "
        f"({percent(roots, calls, 0)} of its allocations){also}; {human_bytes(evidence['bytes_end'])} at the exit",
        "high" if roots > 1 else "medium",
        change=_FREED,
    )


def _saves(evidence: Evidence) -> Saving:
    return Saving("one function", None if evidence["torn_bytes"] else evidence["bytes_peak"], exact=False, faults=True)


LENS = Lens(
    name="leaks",
    question="Which blocks can no pointer reach at the exit?",
    why="The program can't use or free such blocks. A longer run leaks more.",
    threshold="sites with at least 4,096 leaked bytes at the exit, with any share of the heap, because a leak is a bug",
    false_positives="Hidden pointers: compressed, tagged in their low bits, XORed, or stored in a file, a device or another "
    "process. Blocks that static destructors drop without freeing count as leaks; they are harmless. So do blocks of runtimes that unmap their "
    "own heap before the exit (Ruby, Perl): the confidence is low if a pointer led to them near the peak, or if mappings went between the peak "
    "and the snapshot after it. Any word "
    "that looks like a pointer counts as one, so some leaks are missed. Known leaks can be suppressed (tare "
    "report --suppressions). Blocks that are reachable only by pointers into their middle aren't leaks; "
    "snapshot_blocks.reachable marks them.",
    remedy="Free the block before its last pointer is dropped, or keep the pointer.",
    weight="tare",
    sampling="unavailable",
    tables=("site_sizes", "snapshots", "snapshot_sizes", "timeline", "process"),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in ("end_blocks", "roots", "root_calls", "led_to")}
    | {"torn_bytes": "max(torn_bytes)"},
    shown="bytes_end >= 4096 or (bytes_end = 0 and bytes_peak >= greatest(4096, 0.01 * $gross_peak))",
    order="bytes_end, bytes_peak",
    unit="end",
    advise=_advise,
    saves=_saves,
    needs="snapshots",
    guide="12-leaks",
)
