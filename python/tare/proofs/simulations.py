"""How the remedy of each lens is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.lenses.duplicates import ATOM_BYTES
from tare.lenses.hoards import LEAST_IDLE_NS
from tare.lenses.used_snapshots import USED
from tare.proofs.remedies import Remedy, Rule, Simulation, Unsimulated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tare.source.database import TableStore

LARGEST_CELL_BYTES = 2048  # kMostCellBytes in src/allocator_replay/script/slabs.h


class Shape(NamedTuple):
    """Blocks that a finding is about."""

    size_id: int
    align_bytes: int
    requested_bytes: int
    end_blocks: float
    claim: Mapping[str, Any]  # the lens's row about it; empty where the lens claims stacks


class Question(NamedTuple):
    """The data for a simulation."""

    database: TableStore
    shapes: Sequence[Shape]
    rows: Sequence[int]  # that name the finding's line
    partner_row: int | None  # of the other site, where a finding is about two

    def by_shape(self, query: str) -> dict[int, dict[str, Any]]:
        """Records with size_id, of `query`, which has {shapes} for the numbers of the finding's shapes."""
        listed = ", ".join(str(each.size_id) for each in self.shapes) or "-1"
        return {row["size_id"]: row for row in self.database.records(query.replace("{shapes}", listed))}


Answer = Simulation | Unsimulated


def _answer(rules: Sequence[Rule], assumption: str, otherwise: str) -> Answer:
    return Simulation(tuple(rules), assumption) if rules else Unsimulated(otherwise)


def _reuse(question: Question) -> Answer:
    return _answer(
        [Rule(each.size_id, Remedy.REUSE) for each in question.shapes if each.align_bytes == 0],
        "each thread keeps up to 8 freed blocks of this site and reuses them for requests that fit",
        "blocks with an alignment aren't reused in the simulation",
    )


# As the remedy of *churn* draws them.
_INLINE_BYTES = (16, 32, 48, 64)


def _not_on_the_heap(question: Question) -> Answer:
    young = sum(each.claim["calls"] for each in question.shapes)
    for size in _INLINE_BYTES:
        small = [each for each in question.shapes if each.requested_bytes <= size]
        if sum(each.claim["calls"] for each in small) >= 0.9 * young:
            # Those that live longer stay: their bytes would be in their owners.
            rules = [
                Rule(each.size_id, Remedy.SHARE, share=1.0)
                for each in small
                if each.claim["calls"] >= 0.9 * each.claim["total_blocks"]
            ]
            return _answer(
                rules,
                f"blocks of up to {size} bytes that die at once aren't made: they are on the stack",
                "no size dies at once",
            )
    return _reuse(question)


def _built_once(question: Question) -> Answer:
    rows = ", ".join(map(str, question.rows)) or "-1"
    ((times, near_times, blocks),) = question.database.rows(
        "select sum(c.calls), sum(c.near_times), sum(c.total_blocks) from claims_recreated c"
        " join stack_sites s on s.stack_id = c.stack_id join sites t on t.site_id = s.site_id"
        f" where t.site_location_id in ({rows})"
    )
    if not times or near_times >= 0.5 * times:  # as the remedy: the last 8 serve most of them
        return _reuse(question)
    return _answer(
        [Rule(each.size_id, Remedy.SHARE, share=min(1.0, times / blocks)) for each in question.shapes],
        "as large a share of the blocks isn't made as held contents that had been built before, evenly over the run; the table "
        "of the others isn't performed",
        "the site has no blocks",
    )


def _slabs(question: Question) -> Answer:
    return _answer(
        [
            Rule(each.size_id, Remedy.SLABS)
            for each in question.shapes
            if each.requested_bytes <= LARGEST_CELL_BYTES and each.align_bytes == 0
        ],
        "blocks of this site lie in slabs of 32 KiB, rounded to 8 bytes; a thread has its own slabs; freed cells are reused",
        f"no block of this site has {LARGEST_CELL_BYTES:,} bytes or less without an alignment",
    )


def _fitting_requests(question: Question) -> Answer:
    kinds = {each.claim["kind"] for each in question.shapes}
    rules = [
        Rule(each.size_id, Remedy.RESIZE, each.claim["class_below_bytes"])
        for each in question.shapes
        if each.claim["kind"] == "clownshoe" and each.claim["class_below_bytes"]
    ]
    rules += [Rule(each.size_id, Remedy.GROW, more=1) for each in question.shapes if each.claim["kind"] == "growing"]
    how = []
    if "clownshoe" in kinds:
        how.append("requests just above a size class are cut to the class")
    if "growing" in kinds:
        how.append("growing buffers use their whole block before they grow again")
    why = "the pool's requests depend on its blocks" if "pool" in kinds else "no request is just above a size class"
    return _answer(rules, "; ".join(how), why)


def _growth(question: Question) -> Answer:
    return _answer(
        [Rule(each.size_id, Remedy.GROW) for each in question.shapes],
        "buffers of this site double their room when they grow; the program's own copies (malloc, copy, free) aren't "
        "performed, but counted",
        "the site has no blocks",
    )


_AT_EXIT = """
select b.size_id, sum(b.blocks) as blocks, sum(b.unwritten_bytes) as unwritten_bytes
from snapshot_sizes b join snapshots m on m.snapshot = b.snapshot
where m.kind = 'exit' and b.size_id in ({shapes}) group by b.size_id
"""


def _kept_bytes(question: Question) -> dict[int, int]:
    """Of blocks that live to the end, by shape: the mean high-water mark in the snapshot at the exit."""
    question.database.use("snapshots", "snapshot_sizes")
    sizes = {each.size_id: each.requested_bytes for each in question.shapes}
    return {
        size_id: max(1, round(sizes[size_id] - row["unwritten_bytes"] / row["blocks"]))
        for size_id, row in question.by_shape(_AT_EXIT).items()
        if row["blocks"] and row["unwritten_bytes"]
    }


_KEPT = "; blocks that live to the end are cut to what the snapshot at the exit found written on average"


def _shrink(question: Question) -> Answer:
    kept = _kept_bytes(question)
    return _answer(
        [Rule(each.size_id, Remedy.TRIM, 1, kept.get(each.size_id, 0)) for each in question.shapes],
        "buffers have the size that was written from the beginning: the copy of a shrinking realloc isn't performed"
        + (_KEPT if kept else ""),
        "the site has no blocks",
    )


def _first_size(question: Question) -> Answer:
    from tare.lenses.unwritten import STEPS

    narrow = [each for each in question.shapes if each.claim["calls"]]
    calls = sum(each.claim["calls"] for each in narrow)
    within, serving = 0.0, max((each.claim["mark"] for each in narrow), default=0)
    for step in STEPS:  # as the remedy: enough for nine of ten blocks
        within += sum(each.claim[f"within_{step}"] for each in narrow)
        if within >= 0.9 * calls:
            serving = min(step, int(serving))
            break
    kept = _kept_bytes(question)
    how = f"blocks are requested with {serving:,} bytes, or as far as they were written" if serving else (
        "blocks are requested as far as they were written, and not at all if they never were"
    )  # fmt: skip
    return _answer(
        [Rule(each.size_id, Remedy.TRIM, int(serving), max(kept.get(each.size_id, 0), int(serving)) if each.size_id in kept else 0)
         for each in narrow],
        how + (_KEPT if kept else ""),
        "some of these blocks are written to their end, so that no smaller size serves nine of ten",
    )  # fmt: skip


_COPIES = f"""
with {USED}
select b.size_id, sum(b.blocks) as blocks, sum(b.copies) as copies, sum(b.contents) as contents
from snapshot_sizes b join used m on m.snapshot = b.snapshot
where m.kind = '{{kind}}' and b.size_id in ({{shapes}}) group by b.size_id
"""


# As the lens: contents of small blocks at the peak are known without a snapshot. No snapshot had msgfmt's duplicates.
_KNOWN_COPIES = """
with pointers as (
  select size_id, max(start_pointers + interior_pointers) as most from pointer_words group by size_id
)
select c.size_id, sum(c.blocks) as blocks,
       sum(case when c.content_class = 'text' or p.most = 0 then c.copies else 0 end) as copies,
       sum(case when c.content_class = 'text' or p.most = 0 then c.contents else 0 end) as contents
from peak_contents c left join pointers p on p.size_id = c.size_id where c.size_id in ({shapes}) group by c.size_id
"""


def _one_copy(question: Question) -> Answer:
    question.database.use("snapshots", "snapshot_sizes", "peak_contents", "pointer_words")
    rules = []
    known = question.by_shape(_KNOWN_COPIES)
    at_peak, at_exit = (question.by_shape(_COPIES.replace("{kind}", kind)) for kind in ("peak", "exit"))
    for each in question.shapes:
        seen = known.get(each.size_id) or at_peak.get(each.size_id) or at_exit.get(each.size_id)
        if not seen or seen["copies"] <= seen["contents"]:
            continue
        surplus = seen["copies"] - seen["contents"]
        atoms = round(ATOM_BYTES * seen["contents"] / (seen["blocks"] - surplus))
        rules.append(Rule(each.size_id, Remedy.SHARE, atoms, 0, surplus / seen["blocks"]))
    return _answer(
        rules,
        f"as large a share of each size's blocks is left out as was surplus at the peak, evenly over the run; those that "
        f"stay have {ATOM_BYTES} bytes more for each different content",
        "no more copies than contents were found",
    )


def _joined(question: Question) -> Answer:
    question.database.use("twins", "stack_sites", "sites")
    rows = ", ".join(map(str, question.rows)) or "-1"
    pairs = question.database.rows(
        "select distinct t.first_size_id, t.second_size_id from twins t"
        " join stack_sites f on f.stack_id = t.first_stack_id join sites a on a.site_id = f.site_id"
        " join stack_sites s on s.stack_id = t.second_stack_id join sites b on b.site_id = s.site_id"
        f" where a.site_location_id in ({rows}) and b.site_location_id = {-1 if question.partner_row is None else question.partner_row}"
    )
    firsts, seconds = {first for first, _ in pairs}, {second for _, second in pairs}
    return _answer(
        [Rule(shape, Remedy.FIRST) for shape in sorted(firsts - seconds)]
        + [Rule(shape, Remedy.SECOND) for shape in sorted(seconds - firsts)],
        "the block that the thread allocates next at the other site is part of this site's block",
        "both blocks have the same kind",
    )


def _reordered(question: Question) -> Answer:
    rules = []
    for each in question.shapes:
        saved = each.claim["objects"] * (each.claim["size_bytes"] - each.claim["reordered_bytes"])
        if 0 < saved < each.requested_bytes:
            rules.append(Rule(each.size_id, Remedy.RESIZE, int(each.requested_bytes - saved)))
    return _answer(rules, "blocks have the size of the reordered type", "no block would be smaller")


_PACKED = f"""
with {USED}
select p.size_id, max(p.packed_bytes) as packed_bytes from pointer_words p join used u on u.snapshot = p.snapshot
where p.size_id in ({{shapes}}) group by p.size_id
"""


def _narrow(question: Question) -> Answer:
    question.database.use("snapshots", "pointer_words")
    packed = question.by_shape(_PACKED)
    return _answer(
        [
            Rule(each.size_id, Remedy.RESIZE, packed[each.size_id]["packed_bytes"])
            for each in question.shapes
            if each.size_id in packed and 0 < packed[each.size_id]["packed_bytes"] < each.requested_bytes
        ],
        "blocks have the size that 4-byte pointers leave, padding included",
        "no block would be smaller",
    )


def _freed_leaks(question: Question) -> Answer:
    return _answer(
        [
            Rule(each.size_id, Remedy.FREE_AT_ONCE, share=min(1.0, each.claim["end_blocks"] / each.end_blocks))
            for each in question.shapes
            if each.end_blocks and each.claim["end_blocks"]
        ],
        "leaked blocks are freed when they were allocated: their last use isn't recorded, so the true gain is smaller if they "
        "were used for long",
        "no block of this site was leaked at the exit",
    )


# Of blocks that were unchanged for the lens's minimum time: the time of their last write, by snapshots, and the mean
# time of the shape's allocations, if none was freed.
_LAST_WRITES = f"""
with {USED}
select b.size_id, max(b.last_write_ns) as last_ns, sum(b.last_write_ns * b.blocks) / sum(b.blocks) as mean_ns,
       max(m.time_ns) as seen_ns, max(case when z.end_blocks >= z.total_blocks then e.time_ns - z.lifetime_ns / z.total_blocks end) as born_ns
from snapshot_sizes b join used u on u.snapshot = b.snapshot join snapshots m on m.snapshot = b.snapshot
join site_sizes z on z.size_id = b.size_id join snapshots e on e.kind = 'exit'
where u.kind = '{{kind}}' and b.size_id in ({{shapes}})
  and m.time_ns - b.last_write_ns >= greatest({LEAST_IDLE_NS}, 0.5 * m.time_ns)
group by b.size_id
"""
# Of the time of the snapshot: writes are dated by snapshots, so that the build of a block is dated later than its allocation.
_DATING_SHARE = 0.05


def _dropped(question: Question) -> Answer:
    question.database.use("snapshots", "snapshot_sizes", "site_sizes")
    written = {kind: question.by_shape(_LAST_WRITES.replace("{kind}", kind)) for kind in ("peak", "exit")}
    rules = []
    for each in question.shapes:
        claim = each.claim
        kind = "end" if claim["end_still"] >= claim["peak_still"] else "peak"
        last = written["exit" if kind == "end" else "peak"].get(each.size_id)
        if not claim[f"{kind}_still"] or last is None:
            continue
        share = min(1.0, claim[f"{kind}_still"] / claim[f"{kind}_held"]) * claim["idle_share"]
        if last["born_ns"] is not None and last["mean_ns"] - last["born_ns"] <= _DATING_SHARE * last["seen_ns"]:
            rules.append(Rule(each.size_id, Remedy.SHARE, share=share))
        else:
            rules.append(Rule(each.size_id, Remedy.FREE_AT, 0, int(last["last_ns"]) + 1, share))
    return _answer(
        rules,
        "blocks that weren't changed after they were built aren't made; others are freed when a snapshot first found them as they "
        "stay; as large a share is kept, evenly, as the kernel saw read or written later, if it watched",
        "no snapshot found these blocks unchanged for long",
    )


SIMULATIONS: dict[str, Callable[[Question], Answer]] = {
    "leaks": _freed_leaks,
    "duplicates": _one_copy,
    "unwritten": _first_size,
    "slop": _fitting_requests,
    "headers": _slabs,
    "growth": _growth,
    "headroom": _shrink,
    "churn": _not_on_the_heap,
    "recreated": _built_once,
    "twins": _joined,
    "wide-pointers": _narrow,
    "padding": _reordered,
    "hoards": _dropped,
}
_NOT_CALLS = {
    "mappings": "mappings aren't requests to the allocator",
    "unshared": "the copies and their owners aren't visible in the calls",
}


def simulate(lens: str, question: Question) -> Answer:
    if lens in _NOT_CALLS:
        return Unsimulated(_NOT_CALLS[lens])
    if lens not in SIMULATIONS:
        return Unsimulated(f"no simulation of the remedy of {lens} exists yet")
    return SIMULATIONS[lens](question)
