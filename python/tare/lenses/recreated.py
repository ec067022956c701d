"""Recreated: the same contents, built and thrown away over and over."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Confidence, Evidence, Lens
from tare.lenses.saving import Saving
from tare.text.units import human_bytes, human_count, percent

# A content is counted when a block with it is freed after another. Blocks that live at the peak lie there at once: at most the others were built
# after an equal one was freed. Of 60,000 texts of a vector, 59,900 were counted when the vector went.
_CLAIMS = """
with made as (
  select stack_id, sum(total_blocks) as total_blocks, sum(peak_blocks) as peak_blocks from site_sizes group by stack_id
),
again as (
  select stack_id, sum(times) as times, sum(near_times) as near_times, sum(bytes) as bytes, sum(contents) as contents,
         max(max_times) as max_times, max(max_requested_bytes) as largest, max_by(content_class, max_times) as content_class,
         max_by(requested_bytes, max_times) as commonest_bytes
  from recreated group by stack_id
)
select cast(null as bigint) as size_id, a.stack_id, cast(0 as double) as blocks, cast(0 as double) as bytes_peak, cast(0 as double) as bytes_end, a.bytes as bytes_total,
       cast(0 as double) as byte_ns, a.times as calls,
       a.near_times, a.contents, a.max_times, a.largest, a.content_class, a.commonest_bytes,
       m.total_blocks, m.peak_blocks as held
from again a join made m on m.stack_id = a.stack_id
"""


_LAST = Change(
    "Keep the last 8 instead of freeing them",
    {
        "Python": "Keep the last 8 (functools.lru_cache(maxsize=8) on the function that builds them, if its arguments determine the result)",
        "JavaScript": "Keep the last 8 in an array or a Map",
        "Java": "Keep the last 8 in a list or a map",
        "Go": "Keep the last 8 instead of calling C.free",
    },
)
_TABLE = Change(
    "Keep them in a table by key",
    {
        "C": "Keep them in a hash table by key",
        "C++": "Keep them in a table by key (std::unordered_map; AtomTable in tare/atom.h for text)",
        "Rust": "Keep them in a HashMap by key",
        "Python": "Keep them in a dict by key (functools.cache on the function that builds them, if its arguments determine the result)",
        "JavaScript": "Keep them in a Map by key",
        "Java": "Keep them in a HashMap by key",
        "Go": "Keep them in a map by key",
    },
)


def _rebuilt(evidence: Evidence) -> float:
    return float(max(0.0, min(evidence["calls"], evidence["total_blocks"] - evidence["held"])))


def _advise(evidence: Evidence) -> Advice:
    calls = _rebuilt(evidence)
    near, allocated = min(evidence["near_times"], calls), evidence["bytes_total"] * calls / max(1.0, evidence["calls"])
    kind = {"text": "texts", "zeros": "zeros"}.get(evidence["content_class"], "contents")
    one = {"texts": "one text", "zeros": "one size"}.get(kind, "one content")
    different = one if evidence["contents"] == 1 else f"{human_count(evidence['contents'])} different {kind}"
    seen = (
        f"{percent(calls, evidence['total_blocks'], 0)} of the blocks held {kind} that had been built and freed before: "
        f"{different}, the most frequent {human_count(evidence['max_times'])} times"
    )
    sure: Confidence = "medium" if evidence["commonest_bytes"] > 32 or evidence["content_class"] == "text" else "low"
    if near >= 0.5 * calls:
        change, saved = _LAST, f"{human_count(near)} of {human_count(calls)} rebuilds"
    else:
        change, saved = _TABLE, f"up to {human_count(calls)} rebuilds"
    return Advice(
        f"{CHANGE}. This saves {saved} and {human_bytes(allocated)} of allocation: {seen}, the largest of {human_bytes(evidence['largest'])}",
        sure,
        amount=f"{human_count(calls)} calls",
        change=change,
    )


def _saves(evidence: Evidence) -> Saving:
    """Building the contents costs more than these calls, but isn't measured."""
    rebuilt = _rebuilt(evidence)
    near = min(evidence["near_times"], rebuilt)
    calls = near if near >= 0.5 * rebuilt else rebuilt
    return Saving("one function", 0.0, calls=calls, frees=calls)


_REBUILT = "least(calls, total_blocks - held)"

LENS = Lens(
    name="recreated",
    question="Which sites build the same contents again and again and free them?",
    why="Building costs an allocation, parsing or formatting, and a free. A cache of the last few contents avoids it.",
    threshold="at least 1,000 rebuilds and 0.5 % of all calls, more than half of the site's blocks, and each content four "
    "times on average; below, equal contents are chance",
    false_positives="Small nodes that begin alike, and contents full of pointers if the allocator returns the same addresses "
    "again. Contents are compared up to 4,096 bytes. The first occurrence isn't counted, nor one after 65,536 "
    "other contents.",
    remedy="A cache of the last few contents, or a table of all. Library: AtomTable for text.",
    weight="potential",
    sampling="scaled",
    tables=("site_sizes", "recreated"),
    claims=_CLAIMS,
    evidence={name: f"sum({name})" for name in ("near_times", "contents", "total_blocks", "held")}
    | {
        "max_times": "max(max_times)",
        "largest": "max(largest)",
        "content_class": "max_by(content_class, calls)",
        "commonest_bytes": "max_by(commonest_bytes, calls)",
    },
    shown=f"{_REBUILT} >= 1000 and {_REBUILT} >= 0.005 * $calls_total and {_REBUILT} > 0.5 * total_blocks and {_REBUILT} >= 4 * contents",
    order="calls, bytes_total",
    unit="calls",
    advise=_advise,
    saves=_saves,
    needs="contents",
    guide="10-recreated",
)
