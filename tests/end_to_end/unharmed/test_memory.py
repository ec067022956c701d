"""Memory that goes away or can't be read while the recorder looks at it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed, outcome_of, recorded, sorted_lines

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def test_stacks_that_the_c_library_unmaps(tare: Tare, build: Build) -> None:
    for trace in assert_unharmed(tare, [build("stale_stack.c")]).values():
        (facts,) = tare.sql(trace, "select impossible_events from process")
        assert facts["impossible_events"] == 0


@pytest.mark.parametrize("way", ["mprotect", "syscall"])
@pytest.mark.parametrize("mebibytes", ["1", "200"])
def test_a_block_with_a_page_that_cannot_be_read(tare: Tare, build: Build, mebibytes: str, way: str) -> None:
    assert_unharmed(tare, [build("protected_page.c"), mebibytes, way])


@pytest.mark.parametrize("way", ["munmap", "mremap", "sbrk"])
def test_places_that_another_thread_takes_at_once(tare: Tare, build: Build, way: str) -> None:
    """Unmapped memory is gone before the call returns, because another thread may have it by then."""
    program = build(
        "reused_mappings.c", "-Wl,--no-as-needed", str(build("slow_unmapping.c", "-shared", "-fPIC")), "-ldl"
    )
    trace = assert_unharmed(tare, [program, way])["plain"]
    mapped = int(outcome_of([program, way], tare.folder).stdout)
    (facts,) = tare.sql(trace, "select mapped_end_bytes from process")
    assert facts["mapped_end_bytes"] == mapped


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", [[], ["a new thread"]], ids=["same thread", "new thread"])
@pytest.mark.parametrize("bytes_left", ["0", "4096", "16842752", "70000000"])
def test_a_program_that_cuts_its_spool_short(
    tare: Tare, build: Build, bytes_left: str, first: list[str], mode: str
) -> None:
    """It goes on and ends as without a recorder, whichever thread touches the file next."""
    seen = recorded(tare, [build("cut_recording.c"), ".spool", bytes_left, *first], mode)
    assert seen.status == 3, seen
    assert seen.stdout == b""
    assert all(line.startswith(b"tare: ") for line in seen.stderr.splitlines()), seen
    assert b"was truncated" in seen.stderr
    assert tare("report", f"{mode}.tare").returncode == 0


def test_a_program_that_cuts_its_spool_short_without_a_launcher(tare: Tare, build: Build) -> None:
    program = build("cut_recording.c")
    library = tare("run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD").stdout.strip()
    seen = outcome_of([program, ".spool"], tare.folder, env={"LD_PRELOAD": library})
    assert seen.status == 3, seen
    assert seen.stdout == b""
    (line,) = seen.stderr.splitlines()
    assert line.startswith(b"tare: ") and b"was cut short" in line


def test_a_program_that_cuts_its_launchers_control_file(tare: Tare, build: Build) -> None:
    seen = recorded(tare, [build("cut_recording.c"), "/control"], "plain")
    assert seen.status == 3, seen


@pytest.mark.parametrize("way", ["handlers", "blocked", "storm", "fault", "ignored fault", "raise", "kill"])
def test_bus_errors_of_the_program(tare: Tare, build: Build, way: str) -> None:
    """The recorder has a handler in front of the program's, and the program sees its own."""
    for trace in assert_unharmed(tare, [build("bus_errors.c"), way]).values():
        (facts,) = tare.sql(trace, "select impossible_events, dropped_events from process")
        assert facts == {"impossible_events": 0, "dropped_events": 0}


def test_memory_of_the_recorder_is_none_of_the_programs(tare: Tare, build: Build) -> None:
    traces = assert_unharmed(tare, [build("two_processes.c")], modes=["content"], normal=sorted_lines)
    for trace in traces.values():
        (peak,) = tare.sql(trace, "select root_bytes from snapshots where kind = 'peak'")
        assert 0 < peak["root_bytes"] < 20 << 20  # an ended thread's arena is 13 MB of these at times
        (other,) = tare.sql(trace, "select sum(resident_bytes) bytes from resident where kind = 'other'")
        assert other["bytes"] < 1 << 20


def test_data_of_the_recorders_library_is_no_root(tare: Tare) -> None:
    """Its zeroed data is a mapping without a name, of 1.1 MB."""
    tare("run", "-q", "--content", "-o", "t.tare", "--", "bash", "-c", "x=1; y=$(echo 1); z=2")
    (end,) = tare.sql(tare.folder / "t.tare", "select blocks, root_bytes from snapshots where kind = 'exit'")
    assert end["blocks"] > 0
    assert end["root_bytes"] < 800_000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may lock all of its memory")
@pytest.mark.parametrize("user", [[], ["user"]], ids=["root", "user"])
@pytest.mark.parametrize("flags", ["1", "2", "3", "5", "7", "8"])
def test_all_memory_is_locked(tare: Tare, build: Build, flags: str, user: list[str]) -> None:
    """The program's, but not the recorder's: as much is locked as without it, and little more is resident."""
    command = [build("locked_memory.c"), flags, *user]
    native = outcome_of(command, tare.folder)
    seen = recorded(tare, command, "plain")
    *answers, sizes = native.stdout.split(b"\n")[:-1]
    *seen_answers, seen_sizes = seen.stdout.split(b"\n")[:-1]
    assert (seen.status, seen_answers, seen.stderr) == (native.status, answers, native.stderr)
    (resident_kb, locked_kb), (seen_resident_kb, seen_locked_kb) = map(int, sizes.split()), map(int, seen_sizes.split())
    assert seen_resident_kb < resident_kb + 6_000
    assert abs(seen_locked_kb - locked_kb) < 1_000
    (facts,) = tare.sql(tare.folder / "plain.tare", "select alloc_events from process")
    assert facts["alloc_events"] >= 200


def test_pages_that_a_thread_of_the_program_brings(tare: Tare, build: Build) -> None:
    """While the threads are stopped nobody would: a read of such a page waits for ever, and can't be interrupted."""
    program = build("served_faults.c")
    if outcome_of([program], tare.folder).status == 77:
        pytest.skip("userfaultfd is not allowed")
    for mode, trace in assert_unharmed(tare, [program], timeout_s=60).items():
        if mode in ("content", "snapshots"):
            (seen,) = tare.sql(trace, "select unread_bytes from snapshots where kind = 'exit'")
            assert seen == {"unread_bytes": 0}  # no block lies there
