"""Alarms of control groups: the kernel's own signal at a changed file of version 2, kills at once, and groups that go."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Machine
from tare.watch import notes, oom, process
from tare.watch.alarms import Alarms
from tare.watch.pressure import Groups


class HandEpoll:
    """Signals that the test gives."""

    def __init__(self) -> None:
        self.closed = False
        self.registered: set[int] = set()
        self.signalled = False

    def register(self, fd: int, _events: int) -> None:
        self.registered.add(fd)

    def unregister(self, fd: int) -> None:
        self.registered.discard(fd)

    def poll(self, _timeout: float) -> list[tuple[int, int]]:
        return [(fd, select.EPOLLPRI) for fd in sorted(self.registered)] if self.signalled else []

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def epoll(monkeypatch: pytest.MonkeyPatch) -> HandEpoll:
    made = HandEpoll()
    monkeypatch.setattr(select, "epoll", lambda: made)
    return made


def test_a_kill_is_due_at_once_and_a_limit_once_a_second(machine: Machine, epoll: HandEpoll) -> None:
    machine.group("app", oom_kills=1)
    alarms = Alarms(Groups(str(machine.root)))
    alarms.follow({"/sys/fs/cgroup/app", ""})
    assert alarms.changed(1000.0) == (False, [])
    epoll.signalled = True
    machine.group("app", oom_kills=1, high=5)
    assert [alarms.changed(now_s) for now_s in (1000.0, 1000.5, 1001.0)] == [(True, []), (False, []), (True, [])]
    machine.group("app", oom_kills=2, high=5)
    assert alarms.changed(1001.1) == (True, ["/sys/fs/cgroup/app"])
    assert alarms.changed(1001.2) == (False, [])


def test_groups_that_arent_followed_any_more_keep_no_descriptor(machine: Machine, epoll: HandEpoll) -> None:
    for number in range(20):
        machine.group(f"app{number}")
    before = len(os.listdir("/proc/self/fd"))
    alarms = Alarms(Groups(str(machine.root)))
    alarms.follow({f"/sys/fs/cgroup/app{number}" for number in range(20)} | {"/sys/fs/cgroup/none"})
    assert len(epoll.registered) == 20
    (machine.cgroups / "app3").rename(machine.cgroups / "old")  # its inode stays in use
    machine.group("app3")
    alarms.follow({"/sys/fs/cgroup/app3"})
    assert len(epoll.registered) == 1
    alarms.close()
    assert len(os.listdir("/proc/self/fd")) == before
    alarms.follow({"/sys/fs/cgroup/app3"})  # the last round of `tare watch -- CMD`
    assert not epoll.registered


def test_a_killed_service_that_restarts_at_once_is_a_certain_kill(machine: Machine, epoll: HandEpoll) -> None:
    """systemd removes the group with the killed process, and the next one counts from 0 again."""
    machine.group("slice", oom_kills=0)
    machine.group("slice/app", oom_kills=0)
    machine.start(7, group="slice/app")
    machine.write(7)
    watcher = machine.watcher()
    watcher.round()
    machine.group("slice", oom_kills=1)
    machine.group("slice/app", oom_kills=1)
    status = machine.proc / "7/status"
    status.write_text(status.read_text().replace("ShdPnd:\t0000000000000000", "ShdPnd:\t0000000000000100"))
    epoll.signalled = True
    assert watcher.alarm(1000.0)
    machine.end(7)
    (machine.cgroups / "slice/app").rename(machine.cgroups / "old")  # its inode stays in use
    machine.group("slice/app", oom_kills=0)
    watcher.round()
    verdict = verdict_of(machine)
    assert verdict[:4] == ("yes", "/sys/fs/cgroup/slice/app", 0, 1)


def test_a_service_that_is_killed_before_a_round_sees_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = os.stat(machine.proc / "self/ns/pid").st_ino  # its absence in /proc is its end
    monkeypatch.setattr(process, "_INITIAL_NAMESPACE", namespace)
    machine.group("slice", oom_kills=0)
    machine.group("slice/app", oom_kills=0)
    machine.start(7, group="slice/app")
    machine.write(7)
    watcher = machine.watcher()
    watcher.round()
    machine.clock.now_s += 1
    machine.group("slice", oom_kills=1)
    (machine.proc / "vmstat").write_text("oom_kill 6\n")
    machine.write(8, process_start_ticks=900, began_ns=machine.clock.realtime_ns())
    watcher.round()
    verdict = verdict_of(machine)
    assert verdict[:4] == ("likely", "/sys/fs/cgroup/slice", 0, 1)


def verdict_of(machine: Machine) -> oom.Verdict:
    (name,) = (each for each in machine.names() if ".killed." in each)
    note = notes.beside(str(machine.folder / "snapshots" / name))
    assert note is not None
    return note.oom


class RealGroups(Groups):
    """Groups without a memory controller: the file of other events is signalled by the same code of the kernel."""

    def events_file(self, folder: str) -> str:
        return f"{folder}/cgroup.events"


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    done = subprocess.run(["mount", "-t", "cgroup2", "none", tmp_path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs a mount of control groups: {done.stderr.strip()}")
    group = tmp_path / f"tare-alarms-{os.getpid()}"
    try:
        group.mkdir()
        yield group
    finally:
        if group.exists():
            group.rmdir()
        subprocess.run(["umount", tmp_path], check=True)


def test_the_kernel_signals_a_change_and_no_group_that_is_gone(mounted: Path) -> None:
    alarms = Alarms(RealGroups())
    try:
        alarms.follow({str(mounted)})
        ready = select.poll()
        ready.register(alarms, select.POLLIN)
        assert not ready.poll(0) and alarms.changed(1000.0) == (False, [])
        (mounted / "cgroup.freeze").write_text("1")
        assert ready.poll(60_000) and alarms.changed(1000.0) == (True, [])
        assert not ready.poll(0), "a change that was read is signalled no more"
        mounted.rmdir()
        alarms.changed(1001.0)
        assert not ready.poll(0), "nor is a group that is gone"
    finally:
        alarms.close()
