"""A reader written from src/trace/file/FORMAT.md alone sees in a fresh recording what the tables say, event by event."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))

from trace_decoder.clock import Clock
from trace_decoder.document import entry_points, example
from trace_decoder.lives import Life, inherited_by, is_first_of_two, lives_of
from trace_decoder.records import read_trace
from trace_decoder.samples import with_clock
from trace_decoder.tables import (
    ALLOCATION,
    CONTENTS,
    DIGEST,
    FREE,
    MAPPING_APPEARS,
    MAPPING_GOES,
    REALLOC_END,
    REALLOC_START,
    Trace,
)

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
REPORT, POOL_CREATE, POOL_ALLOC = 15, 17, 20
MOST_LOOKED_AT_BYTES = 4096
(PID, PARENT_PID, EXE, START, SAMPLE_BYTES, PARENTS_TRACE) = (1, 2, 7, 13, 14, 21)
(RECORDS, MADE_EVENTS, THREADS) = (30, 31, 32)


def decoded(path: Path) -> Trace:
    trace = read_trace(path)
    assert (trace.damage, trace.is_cut, trace.has_end) == (None, False, True)
    return trace


def block_rows(trace: Trace, lives: list[Life]) -> Iterator[dict[str, Any]]:
    """The table `blocks`, in order of birth."""
    apis = entry_points()["allocations"]
    clock = Clock(trace.clock)
    for i, life in enumerate(lives):
        shape, birth, death = life.shape, life.birth, life.death
        yield {
            "block_id": i,
            "allocated_ns": clock.time_ns(birth.stamp) if birth else 0,
            "freed_ns": clock.time_ns(death.stamp) if death else None,
            "thread": birth.thread if birth else 0,
            "alloc_stack": shape.stack if birth else None,
            "free_stack_id": death.free_stack if death else None,
            "requested_bytes": shape.requested,
            "usable_bytes": shape.usable,
            "align_bytes": 1 << shape.align_log2 if shape.align_log2 else 0,
            "api": apis[shape.api],
            "grown_from": life.grown_from,
            "weight": shape.weight,
            "inherited": int(birth is None),
            "address": life.address,
        }


# Stacks of inherited blocks are the parent's, and growth by malloc, copy and free is the replay's guess.
BLOCKS = """select block_id, allocated_ns, freed_ns, thread, case when inherited = 0 then alloc_stack_id end as alloc_stack,
    free_stack_id, requested_bytes, usable_bytes, align_bytes, api,
    case when api like 'realloc%' then grown_from end as grown_from, weight, inherited, address
    from blocks order by block_id"""


def compare_dictionary(tare: Tare, path: Path, trace: Trace) -> None:
    """A forked child's tables go on with what it inherited."""
    stacks = [(s["caller_id"], s["location_id"]) for s in tare.sql(path, "select * from stacks order by stack_id")]
    assert [(stack.caller, stack.row) for stack in trace.stacks][1:] == stacks[1 : len(trace.stacks)]
    rows = tare.sql(path, "select coalesce(module_id, 65535) as module, address from locations order by location_id")
    rows = rows[: len(trace.rows)]
    assert [(row.module, row.address) for row in trace.rows] == [(row["module"], row["address"]) for row in rows]
    modules = tare.sql(path, "select * from modules order by module_id")
    assert [(m.path.decode(), m.build_id.hex(), m.load_bias, m.start, m.end, m.generation) for m in trace.modules] == [
        (m["path"], m["build_id"], m["load_bias"], m["start_address"], m["end_address"], m["generation"])
        for m in modules
    ]


def compare_counts(tare: Tare, path: Path, trace: Trace, lives: list[Life]) -> None:
    kinds = Counter(event.kind for event in trace.events)
    made = sum(not is_first_of_two(trace, event) for event in trace.events)
    assert (trace.number(RECORDS), trace.number(MADE_EVENTS)) == (len(trace.events), made)
    (process,) = tare.sql(path, "select * from process")
    assert process["exe"] == trace.text(EXE)
    assert process["pid"] == trace.number(PID)
    assert process["parent_pid"] == trace.number(PARENT_PID)
    assert process["start_realtime_ns"] == trace.number(START)
    assert process["threads"] == trace.number(THREADS) == len({event.thread for event in trace.events})
    assert process["alloc_events"] == kinds[ALLOCATION]
    assert process["free_events"] == kinds[FREE]
    assert process["realloc_events"] == kinds[REALLOC_START] == kinds[REALLOC_END]
    assert process["map_events"] == kinds[MAPPING_APPEARS] + kinds[MAPPING_GOES]
    deaths = sum(life.death is not None for life in lives)
    assert process["pre_existing_frees"] == kinds[FREE] + kinds[REALLOC_END] - deaths

    report = tare.report(path)
    assert report["impossible_events"] == report["dropped_events"] == 0
    assert report["events"] == kinds[ALLOCATION] + kinds[FREE] + kinds[REALLOC_START]
    own = [life for life in lives if life.birth]
    for moment, those in (("total", own), ("end", [life for life in lives if not life.death])):
        assert report[moment]["blocks"] == pytest.approx(sum(life.shape.weight for life in those), abs=1)
        requested = sum(life.shape.weight * life.shape.requested for life in those)
        assert report[moment]["requested_bytes"] == pytest.approx(requested, rel=1e-4)


def compare_peak(tare: Tare, path: Path, trace: Trace, lives: list[Life]) -> None:
    headers = {
        row["usable_bytes"]: row["header_bytes"]
        for row in tare.sql(path, "select distinct usable_bytes, header_bytes from site_sizes")
    }
    # events by identity: two may be equal
    changes = {id(life.birth): (1, life.shape) for life in lives if life.birth}
    changes |= {id(life.death): (-1, life.shape) for life in lives if life.death}
    inherited = [(1, life.shape) for life in lives if not life.birth]
    live = peak = (0, 0, 0, 0)
    for sign, shape in inherited + [changes[id(event)] for event in trace.events if id(event) in changes]:
        block = (shape.usable + headers[shape.usable], 1, shape.requested, shape.usable)
        live = tuple(sum_ + sign * one for sum_, one in zip(live, block, strict=True))
        if live[0] > peak[0]:
            peak = live
    reported = tare.report(path)["peak"]
    names = ("gross_bytes", "blocks", "requested_bytes", "usable_bytes")
    assert tuple(reported[name] for name in names) == peak


def compare_blocks(tare: Tare, path: Path, parent: Path | None = None) -> tuple[Trace, list[Life]]:
    trace = decoded(path)
    lives = lives_of(trace.events, trace.shapes, inherited_by(trace, decoded(parent)) if parent else [])
    expected = tare.sql(path, BLOCKS)
    assert len(lives) == len(expected) > 0
    for mine, theirs in zip(block_rows(trace, lives), expected, strict=True):
        if "realloc" not in mine["api"]:
            mine["grown_from"] = None
        assert mine == theirs
    compare_dictionary(tare, path, trace)
    return trace, lives


def compare(tare: Tare, path: Path, parent: Path | None = None) -> Trace:
    trace, lives = compare_blocks(tare, path, parent)
    compare_counts(tare, path, trace, lives)
    if not trace.number(SAMPLE_BYTES):
        compare_peak(tare, path, trace, lives)
    return trace


MS = 1_000_000


@pytest.mark.parametrize(
    "pairs",
    [
        [(1000, 5 * MS)],
        [(1000, 5 * MS), (1100, 5 * MS)],
        [(1000, 5 * MS), (1100, 5 * MS + 300_001)],
        [(1000, 5 * MS), (1100, 5 * MS + MS // 2), (1201, 7 * MS)],
        [(900, 5 * MS), (1000, 6 * MS), (1250, 9 * MS), (1275, 9 * MS + MS // 2)],
        [(1200, 5 * MS), (1299, 7 * MS), (1300, 19 * MS), (1400, 20 * MS)],
    ],
)
def test_times(tare: Tare, pairs: list[tuple[int, int]]) -> None:
    """The worked example's events by other clocks."""
    path = tare.folder / "clock.tare"
    path.write_bytes(with_clock(example(), pairs))
    trace = decoded(path)
    assert trace.clock == pairs
    lives = lives_of(trace.events, trace.shapes, [])
    assert list(block_rows(trace, lives)) == tare.sql(path, BLOCKS)


def test_a_command(tare: Tare) -> None:
    trace = compare(tare, tare.record("git", "--version"))
    assert len(trace.blocks) == 1


@pytest.mark.parametrize("options", [(), ("--free-stacks",), ("--sample", "2000"), ("--content",)], ids=" ".join)
def test_two_threads(tare: Tare, program: Program, options: tuple[str, ...]) -> None:
    trace = compare(tare, tare.record(program("two_threads.cc"), options=options))
    assert {block.thread for block in trace.blocks} == {0, 1}
    kinds = {event.kind for event in trace.events}
    assert kinds > {ALLOCATION, FREE, REALLOC_END, REALLOC_START, MAPPING_APPEARS, MAPPING_GOES}
    assert any(event.free_stack for event in trace.events) == ("--free-stacks" in options)
    assert any(shape.weight > 1 for shape in trace.shapes) == ("--sample" in options)
    assert (CONTENTS in kinds) == ("--content" in options)


def test_contents(tare: Tare, program: Program) -> None:
    path = tare.record(program("two_threads.cc"), options=("--content",))
    trace, lives = compare_blocks(tare, path)
    ended_by = {id(life.death): i for i, life in enumerate(lives) if life.death}
    seen: dict[int, tuple[int, str | None, int | None]] = {}
    for block in trace.blocks:
        notes: dict[int, tuple[int, int, int | None]] = {}
        for before, event in pairwise([*block.events[:1], *block.events]):  # the first may be a note, too
            if event.kind == CONTENTS:
                notes[event.address] = (event.entry, event.api, None)
            elif event.kind == DIGEST:
                notes[before.address] = (before.entry, before.api, event.address)
            elif id(event) in ended_by and event.address in notes:
                unwritten, rest, digest = notes.pop(event.address)
                i = ended_by[id(event)]
                requested = lives[i].shape.requested
                written = requested - unwritten
                held = ("other", "text", "zeros", "none")[rest] if requested <= MOST_LOOKED_AT_BYTES else None
                seen[i] = (written, held if written else "none", digest)
        assert not notes
    rows = tare.sql(
        path, "select block_id, high_water_bytes, content_class, digest from block_history where snapshot = 0"
    )
    assert len(rows) > 1000 and any(row["digest"] for row in rows)
    assert seen == {row["block_id"]: (row["high_water_bytes"], row["content_class"], row["digest"]) for row in rows}


def test_a_thread_of_many_blocks(tare: Tare, program: Program) -> None:
    trace = compare(tare, tare.record(program("steady.c"), "count", "80000"))
    assert len(trace.blocks) > 1


def test_a_fork(tare: Tare, program: Program) -> None:
    parent = tare.record(program("fork_children.c"), name="f.tare")
    child = next(path for path in tare.others("f.tare") if decoded(path).text(PARENTS_TRACE) == "f.tare")
    compare(tare, parent)
    compare(tare, child, parent)


def test_what_a_program_says(tare: Tare, program: Program) -> None:
    include = str(Path(__file__).resolve().parents[2] / "include")
    path = tare.record(program("reports.c", "-I" + include, "-ldl"))
    trace, _ = compare_blocks(tare, path)  # sums count what pools hold, too
    clock = Clock(trace.clock)

    def said(kind: int) -> list[tuple[Any, ...]]:
        return [(clock.time_ns(e.stamp), e.address, e.entry) for e in trace.events if e.kind == kind]

    reports = tare.sql(path, "select * from reports order by time_ns")
    assert [(ns, address, trace.names[name].decode()) for ns, address, name in said(REPORT)] == [
        (report["time_ns"], report["address"], report["path"]) for report in reports
    ]
    pools = tare.sql(path, "select * from pools order by pool_id")
    assert [(ns, trace.names[name].decode()) for ns, _, name in said(POOL_CREATE)] == [
        (pool["created_ns"], pool["name"]) for pool in pools
    ]
    cells = tare.sql(path, "select * from pool_blocks order by pool_block_id")
    assert [
        (ns, address % 2**48, trace.shapes[shape].requested, trace.shapes[shape].stack)
        for ns, address, shape in said(POOL_ALLOC)
    ] == [(cell["allocated_ns"], cell["address"], cell["bytes"], cell["stack_id"]) for cell in cells]
