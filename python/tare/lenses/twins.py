"""Twins: blocks of two sites that are always made together and freed together."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import PARTNER, Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.text.units import exact, human_bytes, human_count, percent

# A site's partner is the one it has most pairs with. How many of a kind's pairs stood at the peak isn't counted; both
# blocks of a pair live as long, so that it's their kinds' share of then. Joined blocks of a site may need larger size classes than
# the blocks apart: then it saves calls, and no bytes. A difference of recordings showed -401 % where such sums were negative.
_CLAIMS = """
with sited as (
  select t.*, f.site_id as site_id, s.site_id as partner_id
  from twins t join stack_sites f on f.stack_id = t.first_stack_id join stack_sites s on s.stack_id = t.second_stack_id
  where f.site_id <> s.site_id
),
counted as (select site_id, partner_id, sum(pairs) as pairs from sited group by site_id, partner_id),
best as (select site_id, max_by(partner_id, pairs) as partner_id from counted group by site_id),
made as (
  select s.site_id, sum(z.total_blocks) as blocks
  from site_sizes z join stack_sites s on s.stack_id = z.stack_id group by s.site_id
),
sized as (
  select t.site_id, t.partner_id, t.first_stack_id, t.pairs, t.end_pairs, t.apart_gross_bytes - t.joined_gross_bytes as saved,
         t.apart_gross_bytes, t.joined_gross_bytes, f.requested_bytes as first_bytes, s.requested_bytes as second_bytes,
         t.pairs * least(f.peak_blocks / f.total_blocks, s.peak_blocks / s.total_blocks) as peak_pairs,
         f.byte_ns / f.total_blocks / (f.usable_bytes + f.header_bytes) as lifetime_ns
  from sited t join best b on b.site_id = t.site_id and b.partner_id = t.partner_id
  join site_sizes f on f.size_id = t.first_size_id join site_sizes s on s.size_id = t.second_size_id
  where f.total_blocks > 0 and s.total_blocks > 0
),
paid as (
  select site_id, sum(saved * peak_pairs) as at_peak, sum(saved * end_pairs) as at_end, sum(saved * pairs) as in_all
  from sized group by site_id
)
select cast(null as bigint) as size_id, z.first_stack_id as stack_id, z.peak_pairs as blocks,
       case when p.at_peak < 0 then 0 else z.saved * z.peak_pairs end as bytes_peak,
       case when p.at_end < 0 then 0 else z.saved * z.end_pairs end as bytes_end,
       case when p.in_all < 0 then 0 else z.saved * z.pairs end as bytes_total,
       case when p.in_all < 0 then 0 else z.saved * z.pairs * z.lifetime_ns end as byte_ns, z.pairs as calls,
       z.first_bytes, z.second_bytes, z.apart_gross_bytes, z.joined_gross_bytes, f.blocks as first_blocks, s.blocks as second_blocks,
       t.site_location_id as partner_row
from sized z join made f on f.site_id = z.site_id join made s on s.site_id = z.partner_id
join sites t on t.site_id = z.partner_id join paid p on p.site_id = z.site_id
"""


_PLAIN = f"Join it with the block of {PARTNER} in one allocation"
_JOINED = Change(
    _PLAIN,
    {
        "C": f"{_PLAIN}: as a member, or behind it as a flexible array member",
        "C++": f"{_PLAIN}: as a member, or behind it (as AtomTable, Bytes and variant do)",
        "Rust": f"{_PLAIN}: by value instead of in a Box of its own",
        "Python": f"Join it with the object of {PARTNER}: __slots__ stores attributes in the object instead of a dict, and a tuple replaces a nested one",
        "JavaScript": f"{_PLAIN}: as views (subarray()) of one buffer",
        "Java": f"{_PLAIN}: as slices of one direct buffer",
    },
)


def _advise(evidence: Evidence) -> Advice:
    pairs, first, second = evidence["calls"], evidence["first_blocks"], evidence["second_blocks"]
    share = min(pairs / first, pairs / second)
    sizes = f"{exact(evidence['first_bytes'])} + {exact(evidence['second_bytes'])} bytes"
    joined, apart = evidence["joined_gross_bytes"], evidence["apart_gross_bytes"]
    taken = f", which use {exact(apart)} bytes apart and {exact(joined)} joined" if joined is not None else ""
    at_peak = evidence["bytes_peak"] or 0
    saves = f"saves {human_bytes(at_peak)} at the peak and " if at_peak >= 1 else "saves no memory at the peak, but "
    return Advice(
        f"{CHANGE}: {percent(share, 1, 0)} of "
        f"both are allocated and freed as pairs, mostly of {sizes}{taken}; {saves}{human_count(pairs)} mallocs and frees",
        # Some blocks without a partner show that there may be none or several: of libxml2's elements, 92 % have one attribute.
        "high" if share >= 0.99 else "low",
        change=_JOINED,
    )


def _saves(evidence: Evidence) -> Saving:
    pairs = evidence["calls"]
    return Saving("a type", evidence["bytes_peak"], exact=False, calls=pairs, frees=pairs)


LENS = Lens(
    name="twins",
    question="Which two sites are always allocated together and freed together?",
    why="Two such blocks cost two headers, two roundings and two pairs of calls, and lie apart in the cache.",
    threshold="at least 90 % of the blocks of both sites are such pairs, because otherwise some live alone; and 0.5 % of "
    "gross at the peak (at least 4,096 bytes), or 1,000 pairs and 1 % of all calls",
    false_positives="A part that is replaced later, or that a library allocates and frees. For pairs that are never freed, only "
    "the allocation is known to be common. Sizes that vary need the length before the first allocation.",
    remedy="One block: the second part behind the first, or inside it if its size is fixed. Library: AtomTable, Bytes and variant are built so.",
    weight="potential",
    sampling="unavailable",
    tables=("site_sizes", "twins", "sites", "stack_sites"),
    claims=_CLAIMS,
    evidence={
        name: f"max_by({name}, calls)"
        for name in ("first_bytes", "second_bytes", "apart_gross_bytes", "joined_gross_bytes", "partner_row")
    }
    | {"first_blocks": "max(first_blocks)", "second_blocks": "max(second_blocks)"},
    shown="calls >= 0.9 * first_blocks and calls >= 0.9 * second_blocks and (bytes_peak >= greatest(4096, 0.005 * $gross_peak)"
    " or (calls >= 1000 and calls >= 0.01 * $calls_total))",
    order="bytes_peak, calls",
    unit="pairs",
    facts=("order", "pairs"),
    advise=_advise,
    saves=_saves,
    guide="04-twin-blocks",
)
