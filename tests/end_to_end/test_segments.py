# SPDX-License-Identifier: Apache-2.0
"""A recording that is cut into segments says what the same recording in one file says, segment by segment and in sum."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tare.text.units import human_bytes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))

from trace_decoder.lives import carried_into, lives_of
from trace_decoder.records import read_trace

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
REPO = Path(__file__).resolve().parents[2]
MIB = 1 << 20
SUMMED = ("alloc_events", "free_events", "realloc_events", "map_events", "total_blocks")
SUMMED_BYTES = ("total_requested_bytes", "total_usable_bytes", "total_gross_bytes")


def segments_of(trace: Path) -> list[Path]:
    older = sorted(trace.parent.glob(f"{trace.name}.s[0-9]*"), key=lambda path: int(path.name.rpartition(".s")[2]))
    return [*older, trace]


def process_of(tare: Tare, trace: Path) -> dict[str, Any]:
    (process,) = tare.sql(trace, "select * from process")
    return process


def check_chain(processes: list[dict[str, Any]]) -> None:
    """Numbers ascend, and each begins with what the one before ended with."""
    for number, process in enumerate(processes, processes[0]["segment"]):
        assert process["segment"] == number
        assert process["continued"] == (process is not processes[-1])
        assert (process["impossible_events"], process["pre_existing_frees"], process["dropped_events"]) == (0, 0, 0)
    for before, after in pairwise(processes):
        assert after["inherited_blocks"] == before["end_blocks"]
        assert after["inherited_usable_bytes"] == before["end_usable_bytes"]
        assert after["before_blocks"] == before["before_blocks"] + before["total_blocks"]
        assert after["before_ns"] == pytest.approx(before["before_ns"] + before["duration_ns"], abs=1000)


def check_sums(processes: list[dict[str, Any]], whole: dict[str, Any]) -> None:
    for column in SUMMED + SUMMED_BYTES:
        assert sum(process[column] for process in processes) == whole[column], column
    last = processes[-1]
    for column in ("end_blocks", "end_requested_bytes", "end_usable_bytes", "end_gross_bytes"):
        assert last[column] == whole[column], column
    kinds = ("alloc", "free", "realloc", "map")
    assert [last[f"before_{kind}_events"] + last[f"{kind}_events"] for kind in kinds] == [
        whole[f"{kind}_events"] for kind in kinds
    ]
    assert last["before_requested_bytes"] + last["total_requested_bytes"] == whole["total_requested_bytes"]


@pytest.mark.parametrize("threads", ["1", "4"])
def test_sums_are_those_of_one_file(tare: Tare, program: Program, threads: str) -> None:
    built = program("segments.c", "-pthread")
    rounds = str(2_400_000 // int(threads))
    whole = process_of(tare, tare.record(built, threads, rounds, name="whole.tare"))
    cut = tare.record(built, threads, rounds, name="cut.tare", options=("--max-size", "1M"))
    files = segments_of(cut)
    assert len(files) >= 10
    processes = [process_of(tare, file) for file in files]
    check_chain(processes)
    if threads == "1":
        check_sums(processes, whole)
    else:  # libc's own blocks of threads depend on when these run
        assert sum(p["realloc_events"] for p in processes) == whole["realloc_events"]
        assert abs(sum(p["total_blocks"] for p in processes) - whole["total_blocks"]) < 100
    assert whole["segment"] is None and whole["before_ns"] is None


def test_sizes(tare: Tare, program: Program) -> None:
    cut = tare.record(program("segments.c", "-pthread"), "1", "1500000", options=("-q", "--max-size", "1M"))
    assert max(file.stat().st_size for file in segments_of(cut)) <= MIB


def test_the_independent_decoder_finds_the_same_blocks(tare: Tare, program: Program) -> None:
    """The live blocks at the beginning of a segment are those that the events of the segment before leave."""
    cut = tare.record(program("segments.c", "-pthread"), "2", "250000", options=("-q", "--max-size", "1M"))
    files = segments_of(cut)
    assert len(files) >= 3
    live: set[tuple[int, int]] = set()
    made: dict[int, int] = {}
    for number, file in enumerate(files, 1):
        trace = read_trace(file)
        assert (trace.damage, trace.is_cut, trace.has_end) == (None, False, True)
        assert trace.segment[0] == number and trace.segment[2] == (file is not files[-1])
        carried = carried_into(trace)
        assert {(life.address, life.shape.requested) for life in carried} == live
        assert {thread: count for thread, count, _ in trace.positions} == {k: v for k, v in made.items() if v}
        for block in trace.blocks:
            assert block.first_event == made.get(block.thread, 0)
            made[block.thread] = block.first_event + block.made_events
        lives = lives_of(trace.events, trace.shapes, carried)
        live = {(life.address, life.shape.requested) for life in lives if life.death is None}


def test_pools_go_on_in_later_segments(tare: Tare, program: Program) -> None:
    """A later segment has no event of the pool's start. Its blocks are recorded, and nothing contradicts."""
    cut = tare.record(program("pool_of_segments.c", f"-I{REPO}/include"), "600000", options=("-q", "--max-size", "1M"))
    files = segments_of(cut)
    assert len(files) >= 3
    handed_out = 0
    for number, file in enumerate(files, 1):
        (pool,) = tare.sql(file, "select name, total_blocks, blocks from pools")
        assert pool["name"] == ("nodes" if number == 1 else None)
        handed_out += pool["total_blocks"]
        if number > 1:  # those that were out before are unknown here, and come back one after the other
            assert pool["blocks"] == 100
        assert "can't be" not in tare("report", file).stderr
    assert handed_out == 600_000


def test_rotation_keeps_the_newest_and_foreign_files(tare: Tare, program: Program) -> None:
    foreign = tare.folder / "t.tare.s99"
    foreign.write_text("not a trace")
    named = tare.folder / "t.tare.sum"
    named.write_text("mine")
    options = ("--max-size", "1M", "--rotate", "3")
    cut = tare.record(program("segments.c", "-pthread"), "1", "1500000", options=options)
    assert foreign.read_text() == "not a trace" and named.read_text() == "mine"
    files = [file for file in segments_of(cut) if file != foreign]
    assert len(files) == 3
    check_chain([process_of(tare, file) for file in files])
    text = tare("report", cut).stdout
    assert f"other segments: {files[0].name}, {files[1].name}" in text and "came before it" in text
    report = tare.report(cut)
    assert report["complete"] and report["segment"]["number"] == int(files[1].name.rpartition(".s")[2]) + 1
    assert report["segment"]["others"][:2] == [files[0].name, files[1].name]
    assert tare("diff", files[0], cut).returncode == 0
    assert tare("counts", cut).returncode == 0
    # The next recording of that name removes them, and nothing else.
    tare.record("true")
    assert sorted(file.name for file in tare.folder.glob("t.tare.s*")) == ["t.tare.s99", "t.tare.sum"]


def test_the_summary_has_the_sizes_of_the_files(tare: Tare, program: Program) -> None:
    options = ("--max-size", "1M", "--rotate", "3")
    done = tare("run", "-o", "t.tare", *options, "--", program("segments.c", "-pthread"), "1", "1500000")
    older = sorted(tare.folder.glob("t.tare.s*"), key=lambda file: int(file.suffix[2:]))
    summary = " ".join(done.stderr.split())
    assert f"trace: t.tare ({human_bytes((tare.folder / 't.tare').stat().st_size)})" in summary
    size = human_bytes(sum(file.stat().st_size for file in older))
    assert f"2 older segments beside it: {older[0].name} to {older[1].name} ({size})" in summary


def test_a_forked_child(tare: Tare, program: Program) -> None:
    built = program("segments.c", "-pthread")
    tare.record(built, "1", "1000000", "fork", name="whole.tare", options=("-q",))
    tare.record(built, "1", "1000000", "fork", name="cut.tare", options=("-q", "--max-size", "1M"))
    (whole,) = (path for path in tare.others("whole.tare") if path.suffix[1:].isdigit())
    (child,) = (path for path in tare.others("cut.tare") if path.suffix[1:].isdigit())
    processes = [process_of(tare, file) for file in segments_of(child)]
    assert len(processes) >= 4
    assert processes[0]["inherited_blocks"] > 2000
    check_chain(processes)
    check_sums(processes, process_of(tare, whole))


def test_contents(tare: Tare, program: Program) -> None:
    built = program("segments.c", "-pthread")
    query = "select count(*) as seen, coalesce(sum(high_water_bytes), 0) as bytes from block_history where snapshot = 0"
    options = ("-q", "--content=unwritten")
    (whole,) = tare.sql(tare.record(built, "1", "600000", name="whole.tare", options=options), query)
    cut = tare.record(built, "1", "600000", name="cut.tare", options=(*options, "--max-size", "1M"))
    parts = [tare.sql(file, query)[0] for file in segments_of(cut)]
    assert len(parts) >= 3
    assert sum(part["seen"] for part in parts) == whole["seen"] > 0
    assert sum(part["bytes"] for part in parts) == whole["bytes"]


def test_a_leak_of_an_earlier_segment_has_its_site(tare: Tare, program: Program) -> None:
    options = ("-q", "--snapshots", "--max-size", "1M", "--rotate", "2")
    cut = tare.record(program("segments.c", "-pthread"), "1", "800000", "leak", options=options)
    assert process_of(tare, cut)["segment"] > 2
    found = tare.report(cut, "--lens", "leaks")["findings"]
    assert any(finding["function"] == "lose_a_block" and finding["bytes_end"] >= 12345 for finding in found)


def test_a_launcher_that_is_killed_in_a_segment(tare: Tare, program: Program) -> None:
    built = program("segments.c", "-pthread")
    command = [tare.command, "run", "-q", "-o", "t.tare", "--max-size", "1M", "--", str(built), "2", "3000000"]
    running = subprocess.Popen(command, cwd=tare.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tare.folder / "t.tare.s3").exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(running.pid, signal.SIGKILL)
    assert running.communicate()[0].decode() == "done\n"  # the program's, which holds the pipe
    processes = [process_of(tare, file) for file in segments_of(tare.folder / "t.tare")]
    assert len(processes) > 3
    assert processes[-1]["launcher_died"] == 1
    for process in processes:
        assert (process["impossible_events"], process["pre_existing_frees"]) == (0, 0)
    for before, after in pairwise(processes):
        assert after["inherited_blocks"] == before["end_blocks"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-size", "1000"), "--max-size needs at least 1M: '1000'"),
        (("--rotate", "3"), "--rotate needs the size of a segment: add --max-size 64M"),
        (("--max-size", "1M", "--rotate", "-1"), "--rotate needs a number of segments, such as 10: '-1'"),
        (("--max-size", "1M", "--rotate", "many"), "--rotate needs a number of segments, such as 10: 'many'"),
    ],
)
def test_limits_that_cannot_be(tare: Tare, options: tuple[str, ...], message: str) -> None:
    done = tare("run", *options, "--", "true")
    assert done.returncode == 125 and message in done.stderr
