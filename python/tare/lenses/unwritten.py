"""Unwritten: blocks whose end nobody ever writes."""

from __future__ import annotations

from tare.lenses.lens import Advice, Confidence, Evidence, Lens
from tare.units import exact, human_bytes, human_count, percent

# High-water marks up to these many bytes are counted apart: columns within_N of `written`.
_STEPS = (0, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096)
_COUNTS = tuple(f"within_{step}" for step in _STEPS)

# A line of `written` may stand for several shapes where stacks are folded, so sums come first. Shapes without one were
# written to their end. calloc's zeros may be what the program wants to read: they count in total, never as tare.
_CLAIMS = f"""
with seen as (
  select shape_id, max(max_high_water_bytes) as mark, sum(unwritten_peak_bytes) as at_peak, sum(unwritten_total_bytes) as in_all,
         sum(unwritten_pages) as pages, {", ".join(f"sum({name}) as {name}" for name in _COUNTS)}
  from written group by shape_id
),
ended as (
  select shape_id, stack_id, api, requested_bytes, usable_bytes + header_bytes as gross_bytes, total_blocks, peak_blocks, byte_ns,
         freed_within_16 + freed_within_64 + freed_within_256 + freed_within_65536 + freed_later as ended_blocks
  from site_sizes where inherited = 0
)
select e.shape_id, e.stack_id, e.peak_blocks as blocks,
       case when e.api = 'calloc' then cast(0 as double) else coalesce(s.at_peak, cast(0 as double)) end as bytes_peak,
       cast(0 as double) as bytes_end, coalesce(s.in_all, cast(0 as double)) as bytes_total,
       case when e.api = 'calloc' then cast(0 as double) else e.byte_ns * coalesce(s.in_all, cast(0 as double)) / (e.gross_bytes * e.total_blocks) end as byte_ns,
       e.ended_blocks as calls,
       coalesce(s.mark, e.requested_bytes) as mark, e.requested_bytes, coalesce(s.pages, cast(0 as double)) as pages,
       case when e.api = 'calloc' then e.ended_blocks else cast(0 as double) end as zeroed,
       {", ".join(f"coalesce(s.{name}, cast(0 as double)) as {name}" for name in _COUNTS)}
from ended e left join seen s on s.shape_id = e.shape_id
where e.ended_blocks > 0
"""


def _serving(evidence: Evidence) -> int:
    """The smallest step that nine of ten blocks stay within; the mark where none is large enough."""
    within = 0.0
    for step, name in zip(_STEPS, _COUNTS, strict=True):
        within += evidence[name]
        if within >= 0.9 * evidence["calls"]:
            return min(step, int(evidence["mark"]))
    return int(evidence["mark"])


def _histogram(evidence: Evidence) -> str:
    parts = [
        f"{percent(evidence[name], evidence['calls'], 0)} {'wrote nothing' if step == 0 else f'within {exact(step)}'}"
        for step, name in zip(_STEPS, _COUNTS, strict=True)
        if evidence[name] >= 0.005 * evidence["calls"]
    ]
    return ", ".join(parts) or f"up to {exact(evidence['mark'])}"


def _advise(evidence: Evidence) -> Advice:
    calls, mark, smallest = evidence["calls"], evidence["mark"], evidence["smallest"]
    serving = _serving(evidence)
    sizes = exact(smallest) if smallest == evidence["largest"] else f"{exact(smallest)} to {exact(evidence['largest'])}"
    seen = f"of {sizes} bytes never more than {exact(mark)} are written ({_histogram(evidence)})"
    if serving == 0:
        what = "Allocate it when it is first written to"
    elif serving <= 256:
        what = f"Keep {exact(serving)} bytes in the object or on the stack (TextStream does), heap only past that: serves 90 %"
    else:
        what = f"Ask for {exact(serving)} bytes first and grow (Buffer does): serves 90 %"
    saves = f"; {human_bytes(evidence['bytes_peak'])} at the peak" if evidence["bytes_peak"] else ""
    if not saves:
        pages = evidence["pages"]
        touched = f" and up to {human_count(pages)} touches of pages" if pages >= 1 else ""
        saves = f"; no memory at the peak, but {human_count(calls)} mallocs and frees{touched}"
    zeroed = evidence["zeroed"] >= 0.5 * calls
    if zeroed:
        saves += " (from calloc: zeros that it wrote can't be told from its own)"
    sure: Confidence = "low" if zeroed else "high" if mark < 0.3 * smallest else "medium"
    return Advice(f"{what}: {seen}{saves}", sure)


LENS = Lens(
    name="unwritten",
    question="Which sites' blocks are never written past a fraction of their size?",
    why="What nobody writes nobody needs: the block could be smaller, lie in its owner, or not be there.",
    threshold="at least 10 blocks of 64 bytes or more, none of which was written past 60 % of the smallest: a maximum over all blocks, because an "
    "average would list every buffer that is sized for its worst case; and 0.1 % of gross at the peak, or over the run 2 % of "
    "the peak (1 MiB at least) of bytes that weren't written",
    false_positives="A program may write the filling's own value. Blocks of calloc and large fresh ones count zeros as unwritten. "
    "Buffers sized for inputs that this run didn't have: record a run that does. Blocks that never end aren't looked at.",
    remedy="TextStream or inline storage of the size that serves 90 %, a first size that grows, or allocation on first use.",
    weight="tare",
    sampling="scaled",
    tables=("site_sizes", "written"),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in (*_COUNTS, "pages", "zeroed")}
    | {"mark": "max(mark)", "smallest": "min(requested_bytes)", "largest": "max(requested_bytes)"},
    shown="calls >= 10 and smallest >= 64 and mark < 0.6 * smallest"
    " and (bytes_peak >= greatest(4096, 0.001 * $gross_peak) or bytes_total >= greatest(1048576, 0.02 * $gross_peak))",
    order="bytes_peak, bytes_total",
    unit="unwritten",
    advise=_advise,
    needs="contents",
)
