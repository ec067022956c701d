"""Hoards: blocks that are kept for long without being written to."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.emergency_pool import NOT_EMERGENCY_POOL
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import MAPPED_APART_BYTES, Saving
from tare.lenses.used_snapshots import HAD, USED, to_peak
from tare.text.units import duration, human_bytes, human_count, percent, plural

# Long: half of the program's life by then, and at least this. `last_write_ns` is the first snapshot at which a block was
# seen as it is now. Of a site that still makes blocks (a table that grows) too few are old for a hoard.
LEAST_IDLE_NS = 100_000_000
LEAST_IDLE = 0.5
# If the kernel reports that so much of the blocks was neither read nor written, a shorter time is enough at the exit: the cache of guide
# pair 06 is unused from 40 % of the run on, but a snapshot first dates it at 70 %.
LEAST_SURE = 0.5
CONFIRMED_IDLE = 0.25
# Where less of the peak is left when the kernel begins to watch, the program is freeing all that it has.
LEAST_HELD = 0.5
# So much may have been read unseen: the processor doesn't mark a page again that its TLB holds, 3,072 of them at most.
UNSEEN_BYTES = 3072 * 4096

# The snapshot that represents the peak may be long before it: of guide pair 11, 17.8 s before, when the pictures were just built. So blocks
# that the snapshot at the exit dates are judged at the time of the peak, too (`aged`): they lived then, and had lain unchanged for long.
# Bytes that were never written are the lens unwritten's: without the recorder, most are on pages that were never touched, so that freeing
# them returns no RSS. memcached has 832 KiB of such buffers, one for each thread.
# The program needs the bytes that it read or wrote between the last two snapshots: the gain is the share of the unchanged bytes that the kernel saw
# untouched. Of guide pair 11, that is 16.0 of 18.9 MiB, and building the pictures when they are shown returned 15.5 MiB.
_CLAIMS = f"""
with {USED},
{HAD},
seen as (
  select u.kind, b.size_id, b.stack_id, b.usable_bytes + b.header_bytes as gross, b.blocks, m.time_ns,
         case when b.content_class = 'zeros' and b.requested_bytes >= {MAPPED_APART_BYTES} then b.blocks * b.requested_bytes
              else coalesce(b.unwritten_bytes, 0) end as unwritten,
         m.time_ns - coalesce(b.last_write_ns, m.time_ns) as idle_ns
  from snapshot_sizes b join used u on u.snapshot = b.snapshot join snapshots m on m.snapshot = b.snapshot
  where coalesce(b.reachable, 'start') <> 'no'
),
untouched as (
  select max(snapshot) as snapshot, sum(resident_bytes - touched_bytes) as untouched_bytes from resident
  where kind = 'heap' and snapshot in (select snapshot from used where kind = 'exit')
),
confirmed as (
  select case when max(t.untouched_bytes) - {UNSEEN_BYTES} >= {LEAST_SURE} * sum(s.blocks * s.gross)
              then {CONFIRMED_IDLE} else {LEAST_IDLE} end as at_exit
  from seen s join untouched t on 1 = 1
  where s.kind = 'exit' and s.idle_ns >= greatest({LEAST_IDLE_NS}, {CONFIRMED_IDLE} * s.time_ns)
),
peak as (select coalesce(max(peak_time_ns), 0) as time_ns, coalesce(max(peak_gross_bytes), 0) as gross_bytes from process),
previous as (select max(m.snapshot) as snapshot from snapshots m join untouched t on m.snapshot < t.snapshot),
watched as (
  select max(m.time_ns) as begin_ns, sum(b.blocks * (b.usable_bytes + b.header_bytes)) as held_bytes
  from previous p join snapshots m on m.snapshot = p.snapshot left join snapshot_sizes b on b.snapshot = p.snapshot
),
judged as (
  select s.*, case when s.kind = 'exit' and p.time_ns - (s.time_ns - s.idle_ns) >= greatest({LEAST_IDLE_NS}, {LEAST_IDLE} * p.time_ns)
                   then 1 else 0 end as aged, case when s.idle_ns >= greatest({LEAST_IDLE_NS},
                     case when s.kind = 'exit' then coalesce(c.at_exit, {LEAST_IDLE}) else {LEAST_IDLE} end * s.time_ns)
                   then 1 else 0 end as still
  from seen s join peak p on 1 = 1 left join confirmed c on 1 = 1
),
unread as (
  select t.untouched_bytes, s.still_bytes
  from untouched t join (select sum(still * blocks * gross) as still_bytes from judged where kind = 'exit') s on 1 = 1
),
shaped as (
  select size_id, min(stack_id) as stack_id,
         sum(case when kind = 'peak' then still * (blocks * gross - unwritten) else 0 end) as bytes_peak,
         sum(case when kind = 'exit' then still * (blocks * gross - unwritten) else 0 end) as bytes_end,
         sum(aged * (blocks * gross - unwritten)) as bytes_aged, sum(aged * blocks) as aged,
         sum(case when kind = 'peak' then still * blocks else 0 end) as peak_still,
         sum(case when kind = 'exit' then still * blocks else 0 end) as end_still,
         sum(case when kind = 'peak' then blocks else 0 end) as peak_held,
         sum(case when kind = 'exit' then blocks else 0 end) as end_held,
         min(case when still = 1 then idle_ns end) as idle_ns
  from judged group by size_id
),
scaled as (
  select d.size_id, d.stack_id, d.bytes_end, d.end_still, d.end_held, d.idle_ns,
         case when d.aged > d.peak_still then d.bytes_aged else d.bytes_peak * {to_peak()} end as at_peak,
         greatest(d.peak_still, d.aged) as peak_still, case when d.aged > d.peak_still then z.peak_blocks else d.peak_held end as peak_held
  from shaped d join site_sizes z on z.size_id = d.size_id left join had h on h.size_id = d.size_id
)
select s.size_id, s.stack_id, s.peak_still as blocks,
       least(s.at_peak, z.gross_peak) as bytes_peak, least(s.bytes_end, z.gross_end) as bytes_end,
       greatest(least(s.at_peak, z.gross_peak), least(s.bytes_end, z.gross_end)) as bytes_total,
       (z.usable_bytes + z.header_bytes) * coalesce(s.idle_ns, 0) * greatest(s.peak_still, s.end_still) as byte_ns,
       z.total_blocks as calls, greatest(s.peak_still, s.end_still) as kept, s.peak_still, s.end_still,
       s.peak_held, s.end_held, s.idle_ns,
       case when s.end_still > 0 and u.still_bytes > 0 and u.untouched_bytes is not null
            then greatest(0, least(1, 1.0 * (u.untouched_bytes - {UNSEEN_BYTES}) / u.still_bytes)) else 0 end as unread,
       case when s.end_still > 0 and u.still_bytes > 0 and u.untouched_bytes is not null
            then greatest(0, least(1, 1.0 * u.untouched_bytes / u.still_bytes)) else 1 end as idle_share,
       case when s.end_still > 0 then z.total_blocks - z.end_blocks else 0 end as gone,
       case when w.begin_ns > p.time_ns and w.held_bytes < {LEAST_HELD} * p.gross_bytes then 1 else 0 end as torn_down
from scaled s join peak p on 1 = 1 left join watched w on 1 = 1
join (select size_id, requested_bytes, usable_bytes, header_bytes, (usable_bytes + header_bytes) * peak_blocks as gross_peak,
             (usable_bytes + header_bytes) * end_blocks as gross_end, total_blocks, end_blocks from site_sizes) z
  on z.size_id = s.size_id
left join unread u on 1 = 1
where {NOT_EMERGENCY_POOL}
"""


def _share(evidence: Evidence) -> tuple[float, float]:
    """Unchanged blocks and all of the site, at the snapshot that has more of them."""
    if evidence["end_still"] >= evidence["peak_still"]:
        return evidence["end_still"], evidence["end_held"]
    return evidence["peak_still"], evidence["peak_held"]


def _seen(evidence: Evidence) -> str:
    return (
        f"{plural(evidence['kept'], 'block')} lay unchanged for {duration(evidence['idle_ns'])} and more, "
        f"{percent(*_share(evidence), 0)} of the site's"
    )


_DROPPED = Change(
    "If they can be built again, free them until they are needed, or limit the cache",
    {
        "C++": "If they can be built again, free them until they are needed, or limit the cache (a tare::MemoryPressure call-back empties it)",
        "Rust": "If they can be built again, drop them until they are needed (std::sync::LazyLock for the first use), or limit the cache",
        "Python": "If they can be built again, drop them until they are needed, or limit the cache (functools.lru_cache(maxsize=n), weakref.WeakValueDictionary)",
        "JavaScript": "If they can be built again, drop them until they are needed, or limit the cache (a Map with a greatest size, WeakRef)",
        "Java": "If they can be built again, drop them until they are needed, or limit the cache (LinkedHashMap.removeEldestEntry(), SoftReference)",
    },
)

# Of the unchanged bytes: with less, the program may read the rest.
_LEAST_UNREAD = 0.25


def _advise(evidence: Evidence) -> Advice:
    kept, gone = evidence["kept"], evidence["gone"]
    if not kept:
        return Advice("Nothing to do: none of these was unchanged for long", "low")
    returned = max(evidence["bytes_peak"], evidence["bytes_end"]) * evidence["idle_share"]
    touched = (
        ". The rest was read or written after the last snapshot but one"
        if round(100 * evidence["idle_share"]) < 100
        else ""
    )
    unread = evidence["unread"] or 0.0
    if unread >= _LEAST_UNREAD:
        return Advice(
            f"{CHANGE}: {_seen(evidence)}; saves up to {human_bytes(returned)}{touched}. The kernel reports that at least "
            f"{percent(unread, 1, 0)} of the unchanged bytes weren't read either between the last two snapshots",
            "high" if unread >= LEAST_SURE else "medium",
            change=_DROPPED,
        )
    reused = (
        f"{human_count(gone)} other blocks of this site were allocated and freed meanwhile, so the kept ones aren't reused"
        if gone >= kept
        else "no block of this site was freed meanwhile: check which code reads them, and build them on first use"
    )
    # Nothing shows that they weren't read. Rows of redis and shared keys of Perl were named here while the number of freed blocks counted.
    return Advice(
        f"{CHANGE}: {_seen(evidence)}; saves up to {human_bytes(returned)}{touched}; {reused}", "low", change=_DROPPED
    )


def _saves(evidence: Evidence) -> Saving:
    """A hoard is kept whole: where most of a site's blocks had just changed at the peak, the program needed them then. While a program
    frees all that it has, it reads nothing: jshon parses a text until the peak, and frees the tree before the text."""
    if evidence["torn_down"] and (evidence["unread"] or 0.0) >= _LEAST_UNREAD:
        return Saving("one function", None, exact=False)
    is_idle = 2 * evidence["peak_still"] >= evidence["peak_held"]
    return Saving("one function", evidence["bytes_peak"] * evidence["idle_share"] if is_idle else 0.0, exact=False)


LENS = Lens(
    name="hoards",
    question="Which sites keep blocks that weren't written for a long time?",
    why="An unused cache occupies memory that other parts of the program could use. A recycling cache is often slower"
    " than malloc.",
    threshold="1 % of gross at the peak or at the end, and 64 KiB, unchanged for half of the program's life and 100 ms (a "
    "quarter of it if the kernel reports that half of these bytes weren't touched either), in nine of ten of the site's blocks, because a hoard is "
    "kept whole",
    false_positives="Tables, texts and trees that are built once and only read are unchanged too. So these bytes don't count as "
    "tare. The confidence is high only if the kernel reports that half as much of the heap (medium: a quarter) was neither read nor "
    "written since the last snapshot. If less than half of the peak was left by then, the gain at the peak is unknown. As large a share as was read or written since counts as needed, and isn't "
    "part of the gain. Writing the same value again isn't noticed. Times have the resolution of "
    "snapshots: at candidates for the peak, on request, and at the exit.",
    remedy="Free unused blocks, limit the cache, empty it under memory pressure, or build on first use.",
    weight="potential",
    sampling="unavailable",
    tables=("site_sizes", "snapshots", "snapshot_sizes", "resident", "process"),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in ("kept", "peak_still", "end_still", "peak_held", "end_held", "gone")}
    | {
        "idle_ns": "min(idle_ns)",
        "unread": "max(unread)",
        "idle_share": "min(idle_share)",
        "torn_down": "max(torn_down)",
    },
    shown="(bytes_peak >= greatest(65536, 0.01 * $gross_peak) and peak_still >= 0.9 * peak_held)"
    " or (bytes_end >= greatest(65536, 0.01 * $gross_end) and end_still >= 0.9 * end_held)",
    order="bytes_end, bytes_peak, byte_ns",
    unit="kept",
    advise=_advise,
    saves=_saves,
    needs="snapshots",
    guide="11-hoards",
)
