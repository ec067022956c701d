"""Unwritten: blocks whose end is never written."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.emergency_pool import NOT_EMERGENCY_POOL
from tare.lenses.lens import Advice, Confidence, Evidence, Lens
from tare.lenses.saving import Effort, Saving
from tare.text.units import exact, human_bytes, human_count, percent, plural

# High-water marks up to these many bytes are counted apart: columns within_N of `written`.
STEPS = (0, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096)
_COUNTS = tuple(f"within_{step}" for step in STEPS)

# Narrow: 95 % of the blocks of the whole site weren't written past 60 % of its smallest. While the greatest mark decided,
# 1.6 % of the arrays of jq hid 46 MiB. Several lines of `written` may be of one shape if stacks are folded. calloc's
# zeros may be wanted by the program: they count in total, never as tare.
_NARROW = (
    "(site_blocks >= 10 or site_requested_bytes >= 65536) and site_requested_bytes >= 64"
    " and site_narrow_blocks >= 0.95 * site_blocks"
)
_PAGE_BYTES = 4096
# A change of the line changes the blocks of all its sites. So sites of a narrow site's line are judged with it, if 90 % of the line's blocks are narrow:
# of jansson's arrays, 42 of 216 thousand are of a second site, 74 % of them narrow.
_CLAIMS = f"""
with alone as (
  select w.*, case when {_NARROW} then 1 else 0 end as narrow_alone, t.site_location_id as line_id
  from written w left join stack_sites x on x.stack_id = w.stack_id left join sites t on t.site_id = x.site_id
),
made as (
  select t.site_location_id as line_id, sum(z.total_blocks) as blocks
  from site_sizes z join stack_sites x on x.stack_id = z.stack_id join sites t on t.site_id = x.site_id
  where t.site_location_id is not null group by t.site_location_id
),
line as (
  select a.line_id, max(a.narrow_alone) as has_narrow, max(m.blocks) as blocks, sum(a.narrow_blocks) as narrow_blocks,
         max(case when a.narrow_alone = 1 then a.requested_bytes end) as largest,
         min(case when a.narrow_alone = 1 then a.requested_bytes end) as smallest
  from alone a join made m on m.line_id = a.line_id group by a.line_id
),
judged as (
  select a.*, case when a.narrow_alone = 1 then 1
                   when l.has_narrow = 1 and l.narrow_blocks >= 0.9 * l.blocks and a.requested_bytes between l.smallest and l.largest then 1
                   else 0 end as narrow
  from alone a left join line l on l.line_id = a.line_id
),
seen as (
  select size_id, sum(unwritten_peak_bytes) as at_peak, sum(unwritten_total_bytes) as in_all,
         sum(narrow * ended_blocks) as calls, sum(narrow * unwritten_peak_bytes) as narrow_peak,
         sum(narrow * unwritten_total_bytes) as narrow_total, sum(narrow * unwritten_pages) as pages,
         sum(narrow * narrow_blocks) as narrow_blocks, sum(narrow * ended_blocks * requested_bytes) as requested_total,
         max(narrow * max_high_water_bytes) as mark, min(case when narrow = 1 then requested_bytes end) as smallest,
         max(narrow * requested_bytes) as largest, {", ".join(f"sum(narrow * {name}) as {name}" for name in _COUNTS)}
  from judged group by size_id
)
select z.size_id, z.stack_id, z.peak_blocks as blocks,
       case when z.api = 'calloc' then cast(0 as double) else s.at_peak end as bytes_peak,
       cast(0 as double) as bytes_end, s.in_all as bytes_total,
       case when z.api = 'calloc' then cast(0 as double)
            else z.byte_ns * s.in_all / ((z.usable_bytes + z.header_bytes) * z.total_blocks) end as byte_ns,
       s.calls,
       case when z.api = 'calloc' then cast(0 as double) else s.narrow_peak end as narrow_peak, s.narrow_total, s.pages,
       case when z.api = 'calloc' or s.narrow_total <= 0 then cast(0 as double)
            else s.narrow_peak * least(1, s.pages * {_PAGE_BYTES} / s.narrow_total) end as untouched_peak,
       s.narrow_blocks, s.requested_total, s.mark, s.smallest, s.largest, case when z.api = 'calloc' then s.calls else cast(0 as double) end as zeroed,
       {", ".join(f"s.{name}" for name in _COUNTS)}
from seen s join site_sizes z on z.size_id = s.size_id
where {NOT_EMERGENCY_POOL}
"""


_INLINE_BYTES = 256  # up to so many bytes are stored in the object or on the stack


def _serving(evidence: Evidence) -> int:
    """The smallest step that nine of ten blocks stay within; the mark where none is large enough."""
    within = 0.0
    for step, name in zip(STEPS, _COUNTS, strict=True):
        within += evidence[name]
        if within >= 0.9 * evidence["calls"]:
            return min(step, int(evidence["mark"]))
    return int(evidence["mark"])


def _histogram(evidence: Evidence) -> str:
    parts = [
        f"{percent(evidence[name], evidence['calls'], 0)} {'wrote nothing' if step == 0 else f'within {exact(step)}'}"
        for step, name in zip(STEPS, _COUNTS, strict=True)
        if evidence[name] >= 0.005 * evidence["calls"]
    ]
    beyond = evidence["calls"] - sum(evidence[name] for name in _COUNTS)
    if parts and beyond >= 0.005 * evidence["calls"]:  # written to the end, or beyond the last step
        parts.append(f"{percent(beyond, evidence['calls'], 0)} beyond")
    return ", ".join(parts) or f"up to {exact(evidence['mark'])}"


def _saved_peak(evidence: Evidence) -> float:
    """By a first size that serves nine of ten blocks. Less than what was never written: a block with 8 of 64 bytes gets 32, too."""
    calls, narrow, in_all = evidence["calls"], evidence["narrow_peak"], evidence["narrow_total"]
    if not calls or not in_all:
        return 0.0
    serving = _serving(evidence)
    served = sum(evidence[name] for step, name in zip(STEPS, _COUNTS, strict=True) if step <= serving)
    if serving not in STEPS:  # the fullest block's mark
        served = calls
    saved = served * (evidence["requested_total"] / calls - serving)
    return float(narrow * min(1.0, max(0.0, saved) / in_all))


_LATER = Change(
    "Allocate it at its first write",
    {
        "Rust": "Allocate it at its first write: Vec::new() and String::new() allocate nothing",
        "Python": "Create it when it is first needed",
        "JavaScript": "Create it when it is first needed",
        "Java": "Create it when it is first needed",
    },
)
_ENOUGH = "enough for 90% of them"


def _inline(size: int) -> Change:
    some = plural(size, "byte")
    plain = f"Store up to {some} in the object or on the stack"
    return Change(
        f"{plain}: {_ENOUGH}",
        {
            **_smaller(some).by,
            "C": f"Use an array of {some} in the struct or on the stack, and call malloc only for more: {_ENOUGH}",
            "C++": f"{plain} (TextStream does): {_ENOUGH}",
            "Rust": f"Store up to {some} inline (SmallVec or ArrayVec), or use with_capacity() for {some}: {_ENOUGH}",
        },
    )


def _smaller(some: str) -> Change:
    return Change(
        f"Request {some} first and grow: {_ENOUGH}",
        {
            "C++": f"Request {some} first and grow (Buffer does): {_ENOUGH}",
            "Rust": f"Use with_capacity() for {some} and let it grow: {_ENOUGH}",
            "Python": f"Create it with {some} and let it grow (a bytearray does): {_ENOUGH}",
            "JavaScript": f"Allocate {some}, and a larger buffer only when these are full: {_ENOUGH}",
            "Java": f"Allocate {some}, and a larger buffer only when these are full: {_ENOUGH}",
        },
    )


def _advise(evidence: Evidence) -> Advice:
    calls, mark, smallest = evidence["calls"], evidence["mark"], evidence["smallest"]
    if not calls:
        return Advice("Start smaller and grow: some of these blocks are written to their end, others aren't", "low")
    serving = _serving(evidence)
    sizes = exact(smallest) if smallest == evidence["largest"] else f"{exact(smallest)} to {exact(evidence['largest'])}"
    share = percent(evidence["narrow_blocks"], calls, 0)
    within = "" if mark < 0.6 * smallest else f" in {share} of the blocks, {exact(mark)} in the fullest"
    most = mark if not within else int(0.6 * smallest)
    written = f"at most {exact(most)} of {sizes} bytes are written" if most else f"none of {sizes} bytes is written"
    seen = f"{written}{within} ({_histogram(evidence)})"
    change = (
        _LATER if serving == 0 else _inline(serving) if serving <= _INLINE_BYTES else _smaller(plural(serving, "byte"))
    )
    saved = _saved_peak(evidence)
    saves = f"; saves {human_bytes(saved)} at the peak" if saved >= 1 else ""
    if not saves:
        pages = evidence["pages"]
        touched = f" and up to {human_count(pages)} first writes to pages" if pages >= 1 else ""
        saves = f"; saves no memory at the peak, but {human_count(calls)} mallocs and frees{touched}"
    zeroed = evidence["zeroed"] >= 0.5 * calls
    if zeroed:
        saves += " (calloc: zeros that the program wrote count as unwritten)"
    sure: Confidence = "low" if zeroed else "high" if mark < 0.3 * smallest else "medium"
    # Bytes of blocks that are mostly written are in bytes_peak, too: the finding is about the rest.
    amount = human_bytes(saved) if saved >= 1 else f"{human_count(calls)} calls"
    return Advice(f"{CHANGE}: {seen}{saves}", sure, amount=amount, change=change)


def _saves(evidence: Evidence) -> Saving:
    """Unwritten whole pages were never resident without the recorder, which fills blocks. Their share is that of each size at the peak: nasm's
    wrapper of malloc made many blocks of 512 bytes that soon ended, and two of 64 KiB that lived at the peak."""
    calls, saved = evidence["calls"], _saved_peak(evidence)
    if not calls:
        return Saving("one function", 0.0)
    serving = _serving(evidence)
    untouched = saved * evidence["untouched_peak"] / evidence["narrow_peak"] if evidence["narrow_peak"] else 0.0
    saved_calls = evidence["within_0"] if serving == 0 else 0.9 * calls if serving <= _INLINE_BYTES else 0.0
    effort: Effort = "one function" if serving == 0 else "a type" if serving <= _INLINE_BYTES else "one line"
    return Saving(
        effort,
        saved - untouched,
        exact=not untouched,
        calls=saved_calls,
        frees=saved_calls,
        untouched_bytes=untouched,
        faults=True,
    )


LENS = Lens(
    name="unwritten",
    question="Which sites' blocks are never written beyond a fraction of their size?",
    why="Bytes that are never written aren't needed. The block can be smaller, or part of its owner, or left out.",
    threshold="at least 10 blocks of 64 bytes or more, or one of 64 KiB, 95 % of them not written beyond 60 % of the smallest "
    "(a quantile, because an average would list every buffer that is sized for its worst case); and unwritten bytes of"
    " 0.1 % of gross at the peak, or over the run 2 % of the peak and 1 MiB",
    false_positives="A program may write the fill value itself. In blocks of calloc, and in large fresh blocks, zeros count as "
    "unwritten. Buffers may be sized for inputs that this run didn't have: record a run with such inputs.",
    remedy="Storage inside the object, of the size that serves 90 %; a smaller first size that grows; or allocation on first use. "
    "Library: TextStream, Buffer.",
    weight="tare",
    sampling="scaled",
    tables=("site_sizes", "written", "stack_sites", "sites"),
    claims=_CLAIMS,
    evidence={
        name: f"sum({name})"
        for name in (
            *_COUNTS,
            "narrow_peak",
            "narrow_total",
            "untouched_peak",
            "narrow_blocks",
            "requested_total",
            "pages",
            "zeroed",
        )
    }
    | {"mark": "max(mark)", "smallest": "min(smallest)", "largest": "max(largest)"},
    shown="calls >= 1 and (narrow_peak >= greatest(4096, 0.001 * $gross_peak)"
    " or narrow_total >= greatest(1048576, 0.02 * $gross_peak))",
    order="narrow_peak, narrow_total",
    unit="calls",
    advise=_advise,
    saves=_saves,
    needs="contents",
    guide="09-unwritten",
)
