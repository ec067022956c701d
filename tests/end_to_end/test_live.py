"""Recordings that begin, rest and end while the program runs: run --start-paused, pause, resume, snapshot, attach."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commanded import Commanded, asleep, blocks_of, facts, recorded_by_run, started, succeed, wait_until_awake
from tare.live import launcher_requests

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def test_a_recording_starts_when_it_is_resumed(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c"), "--start-paused") as commanded:
        commanded.tell("make 100 1001", "drop", "make 100 1002")
        assert "recorded from its next allocation" in succeed(tare, "resume", commanded.pid)
        commanded.tell("drop", "make 50 1003", "grow 1004")
        assert "recorded already" in succeed(tare, "resume", commanded.pid)
        commanded.end()
    trace = tare.folder / "t.tare"
    assert blocks_of(tare, trace, 1001)["total"] == blocks_of(tare, trace, 1002)["total"] == 0
    assert blocks_of(tare, trace, 1003) == {"total": 50, "live": 0}
    assert blocks_of(tare, trace, 1004) == {"total": 50, "live": 50}
    seen = facts(tare, trace)
    assert seen["impossible_events"] == seen["dropped_events"] == 0
    assert seen["pre_existing_frees"] >= 100, "born while the recorder slept"
    assert seen["paused_ns"] > 0


def test_nobody_resumes(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c"), "--start-paused") as commanded:
        commanded.tell("make 100 1001")
        assert "recording wasn't resumed" in commanded.end()
    assert list(tare.folder.glob("*.tare")) == []


@pytest.mark.parametrize("options", [(), ("--content",), ("--sample", "4K"), ("--free-stacks",)], ids=" ".join)
def test_blocks_born_in_a_pause_are_unknown_and_known_ones_end(
    tare: Tare, program: Build, options: tuple[str, ...]
) -> None:
    with recorded_by_run(tare, program("commanded.c"), *options) as commanded:
        commanded.tell("make 300 1001")
        assert "is paused" in succeed(tare, "pause", commanded.pid)
        # Their addresses are used again in the pause, and after it.
        commanded.tell("drop", "make 300 1001", "drop", "make 300 1002", "grow 1500", "grow 900")
        assert "sleeps already" in succeed(tare, "pause", commanded.pid)
        assert "is recorded again" in succeed(tare, "resume", commanded.pid)
        commanded.tell("drop", "make 200 1003", "drop", "make 100 1003")
        commanded.end()
    trace = tare.folder / "t.tare"
    seen = facts(tare, trace)
    assert seen["impossible_events"] == seen["dropped_events"] == 0
    assert seen["paused_ns"] > 0
    first, third = blocks_of(tare, trace, 1001), blocks_of(tare, trace, 1003)
    if "--sample" in options:
        assert first["live"] == 0
        assert blocks_of(tare, trace, 1002)["total"] == 0
        assert third["total"] > 0
    else:
        assert first == {"total": 300, "live": 0}
        assert blocks_of(tare, trace, 1002) == {"total": 0, "live": 0}
        assert third == {"total": 300, "live": 100}
        assert seen["pre_existing_frees"] >= 600
    assert "recorder was paused for" in tare("report", trace).stdout


def test_blocks_that_grow_in_a_pause_end(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c")) as commanded:
        commanded.tell("make 100 1001")
        succeed(tare, "pause", commanded.pid)
        commanded.tell("grow 5001", "fork 10 77")
        succeed(tare, "resume", commanded.pid)
        commanded.tell("grow 9001")
        commanded.end()
    trace = tare.folder / "t.tare"
    assert blocks_of(tare, trace, 1001) == {"total": 100, "live": 0}
    assert blocks_of(tare, trace, 5001)["total"] == 0
    assert blocks_of(tare, trace, 9001) == {"total": 100, "live": 100}
    assert facts(tare, trace)["impossible_events"] == 0
    (child,) = tare.others("t.tare")
    assert blocks_of(tare, child, 77)["total"] == 0, "a paused process's child is paused"


def test_all_processes_of_a_recording_are_woken_and_paused_together(tare: Tare, program: Build) -> None:
    script = f"{program('commanded.c')}; {program('commanded.c')} < /dev/null; /bin/true"
    with started(
        [tare.command, "run", "-q", "--start-paused", "-o", "t.tare", "--", "/bin/sh", "-c", script],
        tare.folder,
        recorded=True,
    ) as commanded:
        assert "2 processes" in succeed(tare, "resume", commanded.pid, "--all")
        commanded.tell("make 10 1001")
        commanded.end()
    # The shell, both programs, and true, which began awake.
    assert len(tare.others("t.tare")) >= 3


def test_a_snapshot_by_command_by_call_and_by_signal(tare: Tare, program: Build) -> None:
    options = ("--snapshot-signal", "USR2")
    command = [tare.command, "run", "-o", "t.tare", *options, "--", program("commanded.c")]
    with started(command, tare.folder, recorded=True) as commanded:
        commanded.tell("make 100 1001")
        assert "took a snapshot" in succeed(tare, "snapshot", commanded.pid, "--name", "after load")
        commanded.tell("make 100 1002", "snapshot by-call", "drop")
        commanded.process.send_signal(signal.SIGUSR2)
        wait_for_moment(tare, commanded)
        commanded.end()
    trace = tare.folder / "t.tare"
    rows = tare.sql(
        trace,
        "select m.name, count(*) filter (requested_bytes = 1001) as first, count(*) filter (requested_bytes = 1002) as"
        " second from snapshots m left join snapshot_blocks b on m.snapshot = b.snapshot where kind = 'request' group by all order by min(m.snapshot)",
    )
    assert rows == [
        {"name": "after load", "first": 100, "second": 0},
        {"name": "by-call", "first": 100, "second": 100},
        {"name": "signal-1", "first": 0, "second": 0},
    ]


def test_named_moments_are_checkpoints_of_a_series(tare: Tare, program: Build) -> None:
    for number in (1000, 2000):
        command = [tare.command, "run", "-o", f"{number}.tare", "--", program("commanded.c")]
        with started(command, tare.folder, recorded=True) as commanded:
            commanded.tell(f"make {number} 4001", "snapshot loaded", "drop", "make 100 20001", "snapshot dropped")
            commanded.end()
        succeed(tare, "check", f"{number}.tare", "--series", "s.jsonl", "--label", str(number))
    first, second = map(json.loads, (tare.folder / "s.jsonl").read_text().splitlines())
    assert list(first["checkpoints"]) == ["loaded", "dropped", "peak", "end"]
    assert first["checkpoints"]["loaded"] == pytest.approx(1000 * 4016, rel=0.01)
    assert second["checkpoints"]["loaded"] == pytest.approx(2000 * 4016, rel=0.01)
    assert first["checkpoints"]["dropped"] == second["checkpoints"]["dropped"] == pytest.approx(100 * 20016, rel=0.02)
    (tare.folder / "tare.toml").write_text('[series]\ncheckpoints = ["unloaded"]\n')
    refused = tare("check", "1000.tare", "--series", "s.jsonl", "--budget", "tare.toml")
    assert refused.returncode == 2
    assert "no checkpoint 'unloaded'" in refused.stderr


def wait_for_moment(tare: Tare, commanded: Commanded) -> None:
    """A request comes after the signal that was sent before: when it's answered, the other is, too."""
    succeed(tare, "resume", commanded.pid)
    time.sleep(0.2)


def test_attach_records_a_sleeping_program_and_lets_it_go(tare: Tare, program: Build) -> None:
    with asleep(tare, program("commanded.c")) as commanded:
        commanded.tell("make 100 1001")
        attach = subprocess.Popen(
            [tare.command, "attach", str(commanded.pid), "-o", "a.tare"], cwd=tare.folder, stderr=subprocess.PIPE
        )
        wait_until_awake(commanded)
        commanded.tell("drop", "make 70 1002", "fork 5 1005")
        attach.send_signal(signal.SIGINT)
        assert attach.wait(timeout=60) == 0
        commanded.tell("make 30 1003", "drop", "fork 5 1006", "grow 10")
        commanded.end()
    trace = tare.folder / "a.tare"
    assert blocks_of(tare, trace, 1001)["total"] == blocks_of(tare, trace, 1003)["total"] == 0
    assert blocks_of(tare, trace, 1002) == {"total": 70, "live": 70}
    seen = facts(tare, trace)
    assert seen["impossible_events"] == seen["dropped_events"] == 0
    assert seen["pre_existing_frees"] >= 100
    (child,) = tare.others("a.tare")
    assert blocks_of(tare, child, 1005)["total"] == 5
    assert sorted(path.name for path in tare.folder.iterdir() if path.is_file()) == ["a.tare", "a.tare.short"]


@contextmanager
def attached(tare: Tare, commanded: Commanded, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`tare attach`, from when it is sure to record until it has let go."""
    command = [tare.command, "attach", str(commanded.pid), *options]
    attach = subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_attached(commanded, attach)
        yield attach
        attach.send_signal(signal.SIGINT)
        _, errors = attach.communicate(timeout=60)
        assert attach.returncode == 0, errors
    finally:
        attach.kill()
        attach.wait()


def wait_until_attached(commanded: Commanded, attach: subprocess.Popen[str]) -> None:
    """Until the process has a spool of a launcher that is this one."""
    deadline = time.monotonic() + 60

    def is_there() -> bool:
        recorded = launcher_requests.find(commanded.pid)
        spool = f"{recorded.directory}/{commanded.pid}.0.spool"
        return (
            launcher_requests.launcher_of(recorded) == attach.pid
            and spool in Path(f"/proc/{commanded.pid}/maps").read_text()
        )

    while not is_there():
        assert time.monotonic() < deadline
        assert attach.poll() is None
        commanded.tell("make 1 4321")
        time.sleep(0.02)


def test_a_process_is_attached_to_again_and_again(tare: Tare, program: Build) -> None:
    """Each time with other options; blocks of a recording end in the next, unrecorded, or never."""
    ways = [
        (),
        ("--content",),
        ("--sample", "4K"),
        ("--free-stacks",),
        ("--sample", "64K", "--content"),
        ("--snapshots",),
    ]
    with asleep(tare, program("commanded.c")) as commanded:
        for number, options in enumerate(ways):
            commanded.tell("make 50 700")
            with attached(tare, commanded, "-o", f"{number}.tare", *options):
                commanded.tell("drop", f"make 300 {2000 + number}", "grow 3000", "drop")
                commanded.tell(f"make 400 {2100 + number}", f"fork 5 {2200 + number}")
            commanded.tell("make 30 1003", "grow 10", "make 20 999")
        commanded.end()
    for number, options in enumerate(ways):
        trace = tare.folder / f"{number}.tare"
        seen = facts(tare, trace)
        assert seen["impossible_events"] == seen["dropped_events"] == 0, options
        assert seen["paused_ns"] > 0, "blocks from before are unknown, and that is said"
        assert "recorder was paused for" in tare("report", trace).stdout
        for other in range(len(ways)):
            for kind in (2000, 2100):
                total = blocks_of(tare, trace, kind + other)["total"]
                assert (total > 0) == (other == number), (options, other)
        (child,) = tare.others(f"{number}.tare")
        if "--sample" in options:
            continue
        assert blocks_of(tare, trace, 2000 + number) == {"total": 300, "live": 0}
        assert blocks_of(tare, trace, 2100 + number) == {"total": 400, "live": 400}
        assert blocks_of(tare, child, 2200 + number)["total"] == 5
        assert seen["pre_existing_frees"] >= 50, "born before this recording"
    sizes = tare.sql(
        tare.folder / "1.tare", "select max(max_high_water_bytes) as most from written where requested_bytes = 2001"
    )
    assert sizes == [{"most": None}], "written to their end, all of them"


def test_threads_are_attached_to_again_and_again(tare: Tare, program: Build) -> None:
    """Some are inside the allocator whenever a recording ends or begins."""
    with asleep(tare, program("restless_threads.c", "-pthread")) as commanded:
        for number in range(6):
            options = ("--content",) if number == 3 else ("--sample", "2K") if number == 4 else ()
            with attached(tare, commanded, "-o", f"{number}.tare", *options):
                for _ in range(3):
                    time.sleep(0.04)
                    commanded.tell("on")
            assert "(deleted)" in Path(f"/proc/{commanded.pid}/maps").read_text()
        commanded.end()
    for number in range(6):
        trace = tare.folder / f"{number}.tare"
        seen = facts(tare, trace)
        assert seen["impossible_events"] == seen["dropped_events"] == 0
        (threads,) = tare.sql(trace, "select count(distinct thread) as n from blocks")
        assert threads["n"] >= (4 if number == 4 else 5), (
            "those that were there, and (not in the sample) those that came"
        )


def test_what_a_recording_leaves_behind_is_small(tare: Tare, program: Build) -> None:
    with asleep(tare, program("commanded.c")) as commanded:
        with attached(tare, commanded, "-q", "-o", "a.tare"):
            commanded.tell(*(f"make 3000 {100 + i}" for i in range(20)), "drop")
        smaps = Path(f"/proc/{commanded.pid}/smaps").read_text()
        commanded.end()
    resident_kib = re.findall(r"/\d+\.0\.spool \(deleted\)\n(?:.*\n)*?Rss: +(\d+) kB", smaps)
    assert len(resident_kib) >= 6, "header, controls, tables and chunks"
    assert sum(map(int, resident_kib)) <= 200


def test_a_second_attach_at_once_is_refused(tare: Tare, program: Build) -> None:
    with asleep(tare, program("commanded.c")) as commanded:
        with attached(tare, commanded, "-o", "a.tare") as first:
            for options in ((), ("-o", "b.tare"), ("--for", "1")):
                refused = tare("attach", str(commanded.pid), *options)
                assert refused.returncode == 125
                assert f"has a launcher already, process {first.pid}" in refused.stderr
            commanded.tell("make 70 1002")
        commanded.end()
    assert blocks_of(tare, tare.folder / "a.tare", 1002)["total"] == 70
    assert not (tare.folder / "b.tare").exists()


def test_a_process_that_allocates_nothing_can_be_attached_to_later(tare: Tare, program: Build) -> None:
    """It was told to record and never came to it: neither the asleep nor the one that was let go is lost by it."""
    with asleep(tare, program("commanded.c")) as commanded:
        for number in range(2):
            idle = tare("attach", str(commanded.pid), "-o", "idle.tare", "--for", "0.2")
            assert idle.returncode == 0
            assert "allocated nothing meanwhile" in idle.stderr
            waiting = None
            refused = ""
            while "waits for its next allocation" not in refused:
                if waiting is None or waiting.poll() is not None:  # who came first refused this one
                    command = [tare.command, "attach", str(commanded.pid), "-o", "w.tare"]
                    waiting = subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.DEVNULL)
                refused = tare("attach", str(commanded.pid), "-o", "x.tare", "--for", "0.1").stderr
            assert waiting is not None
            waiting.send_signal(signal.SIGKILL)  # before it could take back what it said
            waiting.wait()
            with attached(tare, commanded, "-o", f"{number}.tare"):
                commanded.tell("make 70 1002", "drop")
        commanded.end()
    for number in range(2):
        assert blocks_of(tare, tare.folder / f"{number}.tare", 1002)["total"] == 70


@pytest.mark.parametrize("attach_first", [True, False])
def test_attach_takes_over_from_a_launcher_that_was_killed(tare: Tare, program: Build, attach_first: bool) -> None:
    begin = asleep(tare, program("commanded.c")) if attach_first else recorded_by_run(tare, program("commanded.c"))
    with begin as commanded:
        if attach_first:
            first = subprocess.Popen([tare.command, "attach", str(commanded.pid), "-o", "t.tare"], cwd=tare.folder)
            wait_until_attached(commanded, first)
            while not (tare.folder / "t.tare").exists():  # until the launcher has seen the spool
                time.sleep(0.02)
        commanded.tell("make 70 1001")
        killed = first if attach_first else commanded.process
        killed.kill()
        killed.wait()
        commanded.tell("make 5 77")
        with attached(tare, commanded, "-o", "second.tare"):
            commanded.tell("drop", "make 30 1002")
        if attach_first:
            commanded.end()
        else:
            os.kill(commanded.pid, signal.SIGKILL)
    before, after = tare.folder / "t.tare", tare.folder / "second.tare"
    assert blocks_of(tare, before, 1001)["total"] == 70
    assert blocks_of(tare, before, 1002)["total"] == blocks_of(tare, after, 1001)["total"] == 0
    assert blocks_of(tare, after, 1002) == {"total": 30, "live": 30}
    assert facts(tare, after)["pre_existing_frees"] >= 70


def test_two_moments_are_compared_block_by_block(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c"), "--snapshots") as commanded:
        commanded.tell("make 40 1001", "snapshot before", "make 60 1002", "snapshot after", "drop", "make 10 1003")
        commanded.end()
    trace = tare.folder / "t.tare"
    rows = tare.sql(
        trace,
        "select name, o.requested_bytes, count(*) as blocks, count(distinct block_id) as ids, min(reachable) as reached,"
        " min(content_class) as held from block_history o join snapshots using (snapshot)"
        " where o.requested_bytes between 1001 and 1003 group by snapshot, name, o.requested_bytes order by all",
    )
    held = {"reached": "start", "held": "text"}
    assert rows == [
        {"name": "", "requested_bytes": 1003, "blocks": 10, "ids": 10, **held},
        {"name": "after", "requested_bytes": 1001, "blocks": 40, "ids": 40, **held},
        {"name": "after", "requested_bytes": 1002, "blocks": 60, "ids": 60, **held},
        {"name": "before", "requested_bytes": 1001, "blocks": 40, "ids": 40, **held},
    ]
    (changes,) = tare.sql(
        trace,
        "with seen as (select name, o.* from block_history o join snapshots using (snapshot) where o.requested_bytes in (1001, 1002))"
        " select count(*) filter (a.block_id is null) as came, count(*) filter (a.digest = b.digest) as stayed,"
        " count(*) filter (b.last_write_ns is not null) as known"
        " from (from seen where name = 'before') a full join (from seen where name = 'after') b using (block_id)",
    )
    assert changes == {"came": 60, "stayed": 40, "known": 40}


def test_attach_until_the_end(tare: Tare, program: Build) -> None:
    with asleep(tare, program("commanded.c")) as commanded:
        options = ["-o", "a.tare", "--snapshots"]
        attach = subprocess.Popen([tare.command, "attach", str(commanded.pid), *options], cwd=tare.folder)
        wait_until_awake(commanded)
        commanded.tell("make 70 1002")
        commanded.end()
        assert attach.wait(timeout=60) == 0
    trace = tare.folder / "a.tare"
    assert blocks_of(tare, trace, 1002) == {"total": 70, "live": 70}
    assert tare.sql(trace, "select count(*) as n from snapshots where kind = 'exit'") == [{"n": 1}]


def test_who_lets_go_has_looked_once_more(tare: Tare, program: Build) -> None:
    """Of a small heap nothing else is a reason to look, and who asked for looks was told to ask for them."""
    with asleep(tare, program("commanded.c")) as commanded:
        with attached(tare, commanded, "-o", "a.tare", "--snapshots"):
            commanded.tell("make 70 1002")
        commanded.tell("make 70 1003")
        commanded.end()
    trace = tare.folder / "a.tare"
    query = "select kind, count(*) filter (requested_bytes = 1002) as n from snapshots join snapshot_blocks using (snapshot) group by all"
    assert tare.sql(trace, query) == [{"kind": "exit", "n": 70}]
    assert "live blocks" in succeed(tare, "report", trace, "--mode", "rss")


def test_attach_resumes_what_run_started_asleep(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c"), "--start-paused") as commanded:
        assert "recorded from" in succeed(tare, "attach", commanded.pid)
        refused = tare("attach", str(commanded.pid), "-o", "x.tare")
        assert (refused.returncode, "has a launcher" in refused.stderr) == (125, True)
        commanded.tell("make 70 1002")
        commanded.end()
    assert blocks_of(tare, tare.folder / "t.tare", 1002)["total"] == 70


def test_who_cannot_be_reached_is_said(tare: Tare, program: Build) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with started([program("commanded.c")], tare.folder, recorded=False) as commanded:
        for verb in ("pause", "resume", "snapshot", "attach"):
            for pid, why in ((gone.pid, "no process"), (commanded.pid, "no recorder")):
                if verb == "attach" and pid == commanded.pid:
                    continue  # loads the recorder: see test_attach_unprepared.py
                done = tare(verb, str(pid))
                assert (done.returncode, done.stdout) == (125, "")
                assert why in done.stderr
            done = tare(verb, "x")
            assert (done.returncode, "process number" in done.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_other_users_processes_are_refused(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c")) as commanded:
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tare.command, "pause", str(commanded.pid)],
            capture_output=True,
            text=True,
            cwd="/",
        )
        if done.returncode == 126 or ("Permission" in done.stderr and "tare:" not in done.stderr):
            pytest.skip("the command can't be run by another user here")
        assert done.returncode == 125
        assert "root" in done.stderr
        commanded.end()
