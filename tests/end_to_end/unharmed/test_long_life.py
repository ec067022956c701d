"""A recording without end: what it takes of memory, tmpfs and disk stays bounded."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]

HANG_S = 60
MIB = 1 << 20


@contextmanager
def recording(tare: Tare, folder: Path, *command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """`tare run` of a program that waits for lines of input; its buffers lie in `folder`."""
    process = subprocess.Popen(
        [tare.command, "run", "-q", "-o", "t.tare", "--", *map(str, command)],
        cwd=tare.folder,
        env={**os.environ, "TARE_SPOOL_PARENT": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
        process.communicate(b"\n\n", timeout=HANG_S)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def spool_bytes(folder: Path) -> int:
    """Bytes of all spools below a folder."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*.spool"))


def assert_falls_below(most_bytes: int, folder: Path) -> None:
    end = time.monotonic() + HANG_S
    while (seen := spool_bytes(folder)) > most_bytes:
        assert time.monotonic() < end, f"{seen} bytes of buffers"
        time.sleep(0.2)


def next_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout
    return process.stdout.readline().strip()


def test_memory_of_chunks_goes_back_when_threads_have_ended(tare: Tare, build: Build, shared_memory: Path) -> None:
    """1,200 threads took 160 MB for as long as the program ran. More than 1,024 chunks: their controls are mapped anew."""
    with recording(tare, shared_memory, build("waiting_threads.c"), "1200", "3000") as process:
        assert next_line(process) == b"waiting"
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert next_line(process) == b"ended"
        assert_falls_below(16 * MIB, shared_memory)
    (facts,) = tare.sql(tare.folder / "t.tare", "select alloc_events, impossible_events from process")
    assert facts["alloc_events"] >= 1_000_000
    assert facts["impossible_events"] == 0


def test_threads_that_make_few_events_take_little(tare: Tare, build: Build, shared_memory: Path) -> None:
    """A chunk of which more than a page was needed took 64 KiB."""
    with recording(tare, shared_memory, build("waiting_threads.c"), "500", "100") as process:
        assert next_line(process) == b"waiting"
        assert_falls_below(12 * MIB, shared_memory)


def test_processes_that_ended_long_ago_are_a_sum(tare: Tare) -> None:
    """Facts of each process stayed in the launcher's memory. Their traces stay, the launcher keeps the latest."""
    processes = 1100
    loop = f"i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done"
    done = tare("run", "-q", "-o", "t.tare", "--", "/bin/dash", "-c", loop)
    assert done.returncode == 0
    assert "ended earlier" not in done.stderr, "their traces are all in the container"
    assert len(tare.others("t.tare")) >= processes


def test_millions_of_stacks_keep_exact_sums(tare: Tare, build: Build) -> None:
    """Each stack took memory in the launcher for ever. Beyond four million frames events lose a part of their stack."""
    stacks = 2_300_000
    trace = tare.record(build("many_stacks.c"), str(stacks), options=("-q",))
    (facts,) = tare.sql(
        trace, "select alloc_events, total_requested_bytes, folded_stacks, rounded_sizes, dropped_events from process"
    )
    # Events are dropped, and counted, where the launcher gets no processor for long.
    assert facts["alloc_events"] + facts["dropped_events"] >= stacks
    assert 0 <= facts["total_requested_bytes"] - 40 * facts["alloc_events"] < 100_000
    assert facts["folded_stacks"] > 10_000
    assert facts["rounded_sizes"] == 0
