"""Slop: bytes that the allocator adds to a request because no size class fits it."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.growing import GROWING_OFTEN
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Effort, Saving
from tare.text.units import exact, human_bytes

# The shape shown for a site: the one with most slop at the peak; after a comma in thousandths, over the run.
_MOST = "bytes_peak + bytes_total / 1e6"

# From so many bytes on, blocks have pages of their own where their size is a multiple of a page (jemalloc from 16 KiB on; glibc's
# mapped blocks, with a header): the slop's whole pages are never touched. The next smaller class returns the bytes that go elsewhere,
# no more: in jemalloc's blocks of 40,960 bytes for requests of 32,808, peak RSS is the same with 32,768 (guide/01-clownshoes).
_OWN_PAGES = 16384
_PAGE = 4096
_RESIDENT = f"""case when usable_bytes + header_bytes < {_OWN_PAGES} or (usable_bytes + header_bytes) % {_PAGE} <> 0
       then least(slop_bytes, {_PAGE})
       when header_bytes > 0 then slop_bytes
       when clownshoe = 1 then least(slop_bytes, requested_bytes - class_below_bytes)
       else 0 end"""

_CLAIMS = f"""
with {GROWING_OFTEN},
sized as (
  select z.size_id, z.stack_id, z.requested_bytes, z.usable_bytes, z.header_bytes,
         z.peak_blocks, z.end_blocks, z.total_blocks, z.byte_ns,
         z.usable_bytes - z.requested_bytes as slop_bytes, z.api = 'pool memory' as of_pool, c.class_below_bytes, c.clownshoe, g.stack_id as growing_stack_id
  from site_sizes z
  left join size_classes c on c.requested_bytes = z.requested_bytes and z.api <> 'pool memory'
  left join growing g on g.stack_id = z.stack_id
  where z.usable_bytes > z.requested_bytes
)
select size_id, stack_id, peak_blocks as blocks,
       slop_bytes * peak_blocks as bytes_peak, slop_bytes * end_blocks as bytes_end,
       slop_bytes * total_blocks as bytes_total,
       byte_ns * slop_bytes / (usable_bytes + header_bytes) as byte_ns, total_blocks as calls,
       requested_bytes, usable_bytes, class_below_bytes,
       case when of_pool then 0 else (slop_bytes - ({_RESIDENT})) * peak_blocks end as untouched,
       case when of_pool then 'pool' when clownshoe = 1 then 'clownshoe' when growing_stack_id is not null then 'growing' else 'fixed' end as kind
from sized
"""


_POOL = Change(
    "Let this pool allocate less memory at a time, or free its empty parts",
    {
        "C++": "Let this pool allocate less memory at a time, or free its empty parts, as tare::Arena does",
        "Python": "Create objects that live long before those that are dropped soon: one live object keeps a whole arena of the interpreter",
    },
)
_WHOLE_BLOCK = Change(
    "Grow to a size class, and use the whole block as capacity",
    {
        "C++": "Grow to a size class, and use the whole block as capacity: tare::Buffer does, or call tare::good_size",
        "Python": "Create it with its final size if that is known, because Python chooses the capacity of an object that grows",
    },
)


def _fitting(requested: str, usable: str, below: str) -> Change:
    plain = f"Request {below} bytes instead of {requested}, for which the allocator uses {usable}: move the header out of the payload, or use the whole block"
    managed = f"Use a smaller size: for {requested} bytes the allocator uses {usable}, and {below} bytes would fit a size class"
    header = f"{managed}. The runtime adds an object's header to its contents"
    return Change(
        plain,
        {
            "C++": f"{plain} (tare::good_size returns its size; tare::Buffer and Bytes use it)",
            "Python": header,
            "JavaScript": managed,
            "Java": managed,
        },
    )


def _advise(evidence: Evidence) -> Advice:
    if not evidence["avoidable_total"]:
        return Advice("Change the size of the object: its slop can't be avoided otherwise", "low")
    return _avoid(evidence)


def _avoid(evidence: Evidence) -> Advice:
    requested, usable, below = evidence["requested"], evidence["usable"], evidence["below"]
    if evidence["kind"] == "pool":
        return Advice(
            f"{CHANGE}: at the peak, no block of the pool used {human_bytes(evidence['avoidable_peak'])}",
            "medium",
            "pool",
            human_bytes(evidence["avoidable_peak"]),
            _POOL,
        )
    amount = human_bytes(evidence["avoidable_peak"])
    at_peak = f", {amount} at the peak" if evidence["avoidable_peak"] >= 1 else ""
    if evidence["untouched"] >= 1:
        at_peak += f", of which {human_bytes(evidence['untouched'])} are on pages that nobody touches and return no RSS"
    if evidence["kind"] == "clownshoe":
        return Advice(
            f"{CHANGE}. Saves {exact(usable - below)} bytes a block{at_peak}",
            "high",
            "clownshoe",
            amount,
            _fitting(exact(requested), exact(usable), exact(below)),
        )
    return Advice(
        f"{CHANGE}. This buffer requests {exact(requested)} bytes and gets {exact(usable)}{at_peak}",
        "medium",
        amount=amount,
        change=_WHOLE_BLOCK,
    )


def _saves(evidence: Evidence) -> Saving:
    """Pages that are never touched were never resident."""
    slop, untouched = evidence["avoidable_peak"], evidence["untouched"]
    effort: Effort = "a design" if evidence["kind"] == "pool" else "one line"
    return Saving(effort, slop - untouched, exact=not untouched, untouched_bytes=untouched, faults=True)


LENS = Lens(
    name="slop",
    question="Which requests don't fit a size class of this allocator?",
    why="The allocator rounds every request up to a size class. The program pays for the difference and doesn't use "
    "it.",
    threshold="0.1 % of gross at the peak, and 4,096 bytes, if the caller can choose the size: a clownshoe, a growing "
    "buffer, a pool's memory. Slop of objects of one size counts as tare and isn't printed: on ten real programs "
    "none of it could be saved",
    false_positives="A program that calls malloc_usable_size and uses all of the block has no slop: growing buffers of a file that calls it "
    "have low confidence and no predicted gain. Slop of large blocks is mostly on pages "
    "that the program never touches: they return address space, but no RSS, and the predicted gain leaves them out.",
    remedy="Request a size class: include the header in the power of two, and grow buffers to the usable size. Library: good_size returns "
    "it for the allocator in use; Buffer, Bytes and Arena call it.",
    weight="tare",
    sampling="scaled",
    tables=("site_sizes", "size_classes", "growth"),
    claims=_CLAIMS,
    evidence={
        "avoidable_peak": "sum(case when kind <> 'fixed' then bytes_peak else 0 end)",
        "avoidable_total": "sum(case when kind <> 'fixed' then bytes_total else 0 end)",
        "untouched": "sum(case when kind <> 'fixed' then untouched else 0 end)",
    }
    | {
        name: f"max_by({column}, case when kind <> 'fixed' then {_MOST} else -1 end)"
        for name, column in (
            ("kind", "kind"),
            ("requested", "requested_bytes"),
            ("usable", "usable_bytes"),
            ("below", "class_below_bytes"),
        )
    },
    shown="avoidable_peak >= greatest(4096, 0.001 * $gross_peak)",
    order="avoidable_peak, bytes_peak, byte_ns",
    unit="bytes",
    facts=("usable", "requested"),
    advise=_advise,
    saves=_saves,
    guide="01-clownshoes",
)
