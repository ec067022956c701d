"""tare replay: what was live is live again, allocators are told apart, and what can't be performed is said."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare

JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def test_what_was_live_is_live_again(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("tight_handoff.c"))
    report = tare.report(trace)
    done = tare("replay", trace, "--allocator", "glibc", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["threads"] > 1
    assert told["foreign_frees"] == told["reborn_blocks"] == 0
    (glibc,) = told["allocators"]
    assert glibc["failed_calls"] == 0
    assert told["live_requested_bytes"] <= glibc["usable_at_peak_bytes"]
    # threads are up to 8,192 calls apart
    assert glibc["usable_at_peak_bytes"] <= report["peak"]["usable_bytes"] * 2 + 8192 * 64
    assert glibc["rss"]


def test_a_block_may_be_resized_to_no_bytes(tare: Tare) -> None:
    """CPython's functions give a block then, where glibc's realloc frees the old one and gives none."""
    trace = tare.folder / "python.tare"
    done = tare("run", "-q", "-o", trace, "--", shutil.which("python3"), "-c", "pass")
    assert done.returncode == 0, done.stderr
    sizes = "select count(*) as kinds from site_sizes where requested_bytes = 0 and api like '%realloc%'"
    assert json.loads(tare("sql", trace, "--json", sizes).stdout)[0]["kinds"] > 0
    done = tare("replay", trace, "--allocator", "glibc", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["allocators"][0]["failed_calls"] == 0


def test_81_mb_are_taken_again(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("aligned_81mb.c"))
    told = json.loads(tare("replay", trace, "--allocator", "glibc", "--runs", "1", "--json").stdout)
    (glibc,) = told["allocators"]
    assert 81_000_000 <= glibc["usable_at_peak_bytes"] < 82_000_000
    assert 80_000_000 <= glibc["peak_heap_rss_bytes"] < 86_000_000  # the performer's own is taken off
    # the program never touches its blocks, and the performed calls write them: its peak can't be predicted
    assert told["program_peak_rss_bytes"] < 80_000_000
    assert glibc["predicted_peak_rss_bytes"] is None


def test_small_programs_are_not_given_the_launchers_size(tare: Tare, program: Callable[..., Path]) -> None:
    """wait4's peak of a child begins with the launcher's own memory at the fork, some 16 MB."""
    trace = tare.record(program("small_heap.c"))
    (row,) = tare.sql(trace, "select (peak_rss_bytes - spool_bytes) / 1e6 as peak, spool_bytes from process")
    assert 1.5 < row["peak"] < 6, "a megabyte of heap, the C library and the recorder"
    left = tare.record(program("small_heap.c"), "leave", name="left.tare")
    (of_left,) = tare.sql(left, "select (peak_rss_bytes - spool_bytes) / 1e6 as peak from process")
    assert of_left["peak"] == pytest.approx(row["peak"], abs=0.5), "by _exit, too"


def test_the_trace_is_read_once(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("clownshoes.c"))
    (row,) = tare.sql(trace, "select allocator, peak_rss_bytes - spool_bytes as peak from process")
    cache = trace.with_name(f".{trace.name}.cache")
    shutil.rmtree(cache)
    told = json.loads(tare("replay", trace, "--allocator", "glibc", "--runs", "1", "--json").stdout)
    assert (told["recorded_allocator"], told["program_peak_rss_bytes"]) == (row["allocator"], row["peak"])
    assert not cache.exists()  # tables would have cost a replay


@pytest.mark.skipif(not JEMALLOC.exists(), reason="libjemalloc2 isn't installed")
def test_another_allocator_serves_the_calls(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("clownshoes.c"))
    done = tare("replay", trace, "--allocator", f"glibc,jemalloc,{JEMALLOC}", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each for each in json.loads(done.stdout)["allocators"]}
    assert set(found) == {"glibc", "jemalloc"}  # the same library twice is one
    assert "jemalloc" in found["jemalloc"]["library"]
    assert "libc.so" in found["glibc"]["library"]
    assert found["jemalloc"]["usable_at_peak_bytes"] > found["glibc"]["usable_at_peak_bytes"]


def test_part_of_a_recording_is_said_to_be_one(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("clownshoes.c"))
    whole = trace.read_bytes()
    part = trace.with_name("part.tare")
    part.write_bytes(whole[: len(whole) - 40])
    for command in (
        ["replay", part, "--allocator", "glibc", "--runs", "1"],
        ["model", part],
        ["layout", "--trace", part],
    ):
        done = tare(*command)
        assert "part.tare has no end" in done.stderr, command
        assert done.returncode == 0, done.stderr
    (part.parent / "short.tare").write_bytes(whole[:400])
    for verb in ("replay", "model"):
        done = tare(verb, part.parent / "short.tare")
        assert done.returncode != 0
        assert "the recording has no" in done.stderr
        assert done.stdout == ""


def test_what_is_no_allocator_is_said(tare: Tare, program: Callable[..., Path], tmp_path: Path) -> None:
    trace = tare.record(program("clownshoes.c"))
    (tmp_path / "empty.so").touch()
    for name, words in (
        (str(tmp_path / "empty.so"), "brings no malloc"),
        (str(tmp_path), "no such file"),
        ("", "no allocator ''"),
        ("glibc,", "no allocator ''"),
    ):
        done = tare("replay", trace, "--allocator", name, "--runs", "1")
        assert done.returncode != 0
        assert words in done.stderr
        assert done.stdout == ""


def test_the_table_fits(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("clownshoes.c"))
    for columns in (40, 80, 120):
        done = tare("replay", trace, "--allocator", "glibc", "--runs", "1", env={"COLUMNS": str(columns)})
        assert done.returncode == 0, done.stderr
        assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--allocator", "nomalloc"], 2, "nomalloc"),
        (["--allocator", "/nowhere/lib.so"], 2, "/nowhere/lib.so"),
        (["--allocator", "/bin/sh"], 4, "replay: "),
        (["--runs", "0"], 2, "--runs"),
        (["--speed", "-1"], 2, "--speed"),
    ],
)
def test_what_makes_no_sense_is_said(
    tare: Tare, program: Callable[..., Path], options: list[str], status: int, said: str
) -> None:
    trace = tare.record(program("clownshoes.c"))
    done = tare("replay", trace, *options)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_library_without_malloc_is_no_allocator(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("clownshoes.c"))
    done = tare("replay", trace, "--allocator", "/lib/x86_64-linux-gnu/libz.so.1")
    assert done.returncode == 4
    assert "brings no malloc" in done.stderr


def test_a_sampled_recording_is_refused(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("clownshoes.c"), options=("--sample", "4K"))
    done = tare("replay", trace)
    assert done.returncode == 2
    assert "sampled" in done.stderr


def test_a_replay_that_is_ended_leaves_nothing(tare: Tare, program: Callable[..., Path], tmp_path: Path) -> None:
    trace = tare.record(program("aligned_81mb.c"))
    folder = tmp_path / "scratch"
    folder.mkdir()
    process = subprocess.Popen(
        [tare.command, "replay", trace, "--allocator", "glibc", "--runs", "100000"],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
    )
    while not list(folder.glob("*/script")):
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait(timeout=120) == -signal.SIGTERM
    assert not list(folder.iterdir())
