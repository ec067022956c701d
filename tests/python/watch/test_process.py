"""Whether a process is alive: its number, its start, the machine's start, and other PID namespaces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machine import BOOT, Machine
from tare.watch.process import Processes


def state(machine: Machine, pid: int, ticks: int = 777, boot: str = BOOT, *, was_seen: bool = False) -> str:
    return Processes(str(machine.proc)).find(pid, ticks, boot, was_seen=was_seen).state


def test_number_start_and_boot_must_match(machine: Machine) -> None:
    machine.start(7)
    assert state(machine, 7) == "alive"
    assert state(machine, 7, ticks=778, was_seen=True) == "dead"  # another process has its number
    assert state(machine, 7, boot="another") == "dead"


def test_an_absent_process_is_dead_only_if_it_would_be_visible(machine: Machine) -> None:
    assert state(machine, 9) == "hidden"
    assert state(machine, 9, was_seen=True) == "dead"


def test_without_start_and_boot_the_number_decides(machine: Machine) -> None:
    """AppArmor kept the recorder from reading them: a living process must not lose its file."""
    machine.start(7)
    machine.start(5000, ticks=31, inner_pid=12)
    assert state(machine, 7, ticks=0, boot="") == "alive"
    assert Processes(str(machine.proc)).find(12, 0, "", was_seen=True) == ("alive", 5000)
    assert state(machine, 9, ticks=0, boot="", was_seen=True) == "dead"
    assert state(machine, 7, ticks=0, boot="another") == "dead"


def test_a_zombie_is_dead(machine: Machine) -> None:
    machine.start(7)
    stat = machine.proc / "7/stat"
    stat.write_text(stat.read_text().replace(") S ", ") Z "))
    assert state(machine, 7) == "dead"
    words = stat.read_text().split(" ")
    words[words.index("Z") + 17] = "3"  # threads: the first has ended by pthread_exit
    stat.write_text(" ".join(words))
    assert state(machine, 7) == "alive"


def test_a_process_of_an_inner_namespace_is_found_by_its_number_there(machine: Machine) -> None:
    machine.start(5000, ticks=31, inner_pid=1)
    machine.start(1, ticks=2)  # this namespace's own first process
    found = Processes(str(machine.proc)).find(1, 31, BOOT, was_seen=False)
    assert (found.state, found.visible_pid) == ("alive", 5000)


def test_proc_is_read_once_a_round(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for pid in range(100, 400):
        machine.start(pid, inner_pid=pid - 90, ticks=pid)
    processes = Processes(str(machine.proc))
    listings = 0
    real = os.listdir

    def counted(path: str) -> list[str]:
        nonlocal listings
        listings += 1
        return real(path)

    monkeypatch.setattr(os, "listdir", counted)
    processes.refresh()
    assert all(processes.find(pid - 90, pid, BOOT, was_seen=False).state == "alive" for pid in range(100, 400))
    assert listings == 1


def test_this_process(tmp_path: Path) -> None:
    processes = Processes()
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    found = processes.find(os.getpid(), ticks, processes.boot_id, was_seen=False)
    assert (found.state, found.visible_pid) == ("alive", os.getpid())
    assert (processes.rss_bytes(os.getpid()) or 0) > 1 << 20
