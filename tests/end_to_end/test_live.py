"""Recordings that begin, rest and end while the program runs: run --start-paused, pause, resume, snapshot, attach."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commanded import Commanded, asleep, blocks_of, facts, recorded_by_run, started, succeed, wait_until_awake

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
    assert seen["asleep_ns"] > 0


def test_nobody_resumes(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c"), "--start-paused") as commanded:
        commanded.tell("make 100 1001")
        assert "nobody woke the recorder" in commanded.end()
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
    assert seen["asleep_ns"] > 0
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
    assert "slept for" in tare("report", trace).stdout


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
    (child,) = [path for path in tare.folder.glob("t.tare.*") if path.is_file()]
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
    assert len([path for path in tare.folder.glob("t.tare*") if path.is_file()]) >= 4


def test_a_snapshot_by_command_by_call_and_by_signal(tare: Tare, program: Build) -> None:
    options = ("--snapshot-signal", "USR2")
    command = [tare.command, "run", "-o", "t.tare", *options, "--", program("commanded.c")]
    with started(command, tare.folder, recorded=True) as commanded:
        commanded.tell("make 100 1001")
        assert "looked into the blocks" in succeed(tare, "snapshot", commanded.pid, "--name", "after load")
        commanded.tell("make 100 1002", "snapshot by-call", "drop")
        commanded.process.send_signal(signal.SIGUSR2)
        wait_for_moment(tare, commanded)
        commanded.end()
    trace = tare.folder / "t.tare"
    rows = tare.sql(
        trace,
        "select m.name, count(*) filter (requested_bytes = 1001) as first, count(*) filter (requested_bytes = 1002) as"
        " second from moments m left join moment_blocks b on m.moment = b.moment where kind = 'request' group by all order by min(m.moment)",
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
    assert refused.returncode == 125
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
        again = tare("attach", str(commanded.pid))
        assert again.returncode == 125
        assert "attached to before" in again.stderr
        commanded.end()
    trace = tare.folder / "a.tare"
    assert blocks_of(tare, trace, 1001)["total"] == blocks_of(tare, trace, 1003)["total"] == 0
    assert blocks_of(tare, trace, 1002) == {"total": 70, "live": 70}
    seen = facts(tare, trace)
    assert seen["impossible_events"] == seen["dropped_events"] == 0
    assert seen["pre_existing_frees"] >= 100
    (child,) = [path for path in tare.folder.glob("a.tare.*") if path.is_file()]
    assert blocks_of(tare, child, 1005)["total"] == 5
    assert sorted(path.name for path in tare.folder.iterdir() if path.is_file()) == ["a.tare", child.name]


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
    assert tare.sql(trace, "select count(*) as n from moments where kind = 'exit'") == [{"n": 1}]


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
            for pid, why in ((gone.pid, "there is no process"), (commanded.pid, "no recorder in it")):
                done = tare(verb, str(pid))
                assert (done.returncode, done.stdout) == (125, "")
                assert why in done.stderr
            done = tare(verb, "x")
            assert (done.returncode, "no process number" in done.stderr) == (125, True)


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
