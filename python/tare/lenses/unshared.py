"""Unshared: blocks that count their holders and never had a second one."""

from __future__ import annotations

from tare.lenses.change import CHANGE, Change
from tare.lenses.lens import Advice, Evidence, Lens
from tare.lenses.saving import Saving
from tare.text.units import exact, human_count, percent

# The cost of a count for each block: tare::SharedHeader, two words of four bytes.
_COUNT_BYTES = 8

_CLAIMS = f"""
select cast(null as bigint) as size_id, stack_id, 0 as blocks, cast(null as double) as bytes_peak,
       {_COUNT_BYTES} * (end_blocks - end_shared_blocks) as bytes_end, {_COUNT_BYTES} * (blocks - shared_blocks) as bytes_total,
       cast(null as double) as byte_ns, blocks - shared_blocks as calls, blocks as counted
from sharing
"""


_OWNED = Change(
    "Give them a single owner",
    {
        "C++": "Give them a single owner: std::string, std::unique_ptr (tare::Buffer; UniqueBytes until the first sharing)",
        "Rust": "Give them a single owner: String, Vec or Box instead of Rc or Arc",
    },
)


def _advise(evidence: Evidence) -> Advice:
    alone, counted = evidence["calls"], evidence["counted"]
    return Advice(
        f"{CHANGE}: {human_count(alone)} of {human_count(counted)} blocks of this site ({percent(alone, counted)}) never had a second owner. "
        f"Each count costs at least {exact(_COUNT_BYTES)} bytes and two atomic instructions",
        "high" if alone == counted else "medium",
        change=_OWNED,
    )


def _saves(evidence: Evidence) -> Saving:
    """How many of the blocks lived at the peak isn't counted."""
    return Saving("a type")


LENS = Lens(
    name="unshared",
    question="Which reference-counted blocks never had a second owner?",
    why="A count costs bytes in each block, an atomic instruction for each copy, and often a second block or a copy "
    "of the contents. In Firefox, 97 % of the string buffers behind dynamic atoms were unshared, and were "
    "removed.",
    threshold="1,000 counted blocks, and 95 % of a site's blocks unshared; a few shared ones may justify the count",
    false_positives="Blocks that are meant to be shared later, and contents that this run didn't share. Only programs that report"
    " owners are covered: tare::Bytes does with TARE_REPORT_SHARING=1 in its environment, other code by "
    "tare_report_sharing() of tare/reporter.h.",
    remedy="Give the block one owner: std::string, unique_ptr. Or use one block together with its references. Library: Buffer, UniqueBytes; AtomTable.",
    weight="potential",
    sampling="scaled",
    tables=("sharing",),
    claims=_CLAIMS,
    evidence={"counted": "sum(counted)"},
    shown="counted >= 1000 and calls >= 0.95 * counted",
    order="calls",
    unit="calls",
    advise=_advise,
    saves=_saves,
    guide="05-duplicates",
)
