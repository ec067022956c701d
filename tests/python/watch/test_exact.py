"""Exact recordings that a trigger starts: one at a time, complete or absent, with a line for a failure."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from machine import MIB, Machine
from tare.watch.exact import ExactRecordings
from tare.watch.folder import Folder
from tare.watch.pressure import Groups
from tare.watch.process import Processes
from tare.watch.triggers import Conditions
from tare.watch.watcher import Settings, Watcher


def stand_in(machine: Machine, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """For `python -m tare attach PID -q --for TIME -o FILE`: appends its arguments to a file, then runs the script."""
    path, calls = machine.root / "attach", machine.root / "calls"
    path.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nfor out; do :; done\n{script}\n')
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    return calls


def rounds(machine: Machine, watcher: Watcher, number: int = 20, step_s: float = 5.0) -> None:
    for step in range(number):
        machine.write(7, (10 + step) * MIB)
        watcher.round()
        machine.clock.now_s += step_s
        time.sleep(0.05)


def watcher_of(machine: Machine, seconds: float = 2.0, not_within_s: float = 0.0) -> Watcher:
    settings = Settings(every_s=1e9, conditions=Conditions(heap_bytes=MIB, not_within_s=not_within_s))
    machine.start(7)
    return Watcher(
        Folder(str(machine.folder)), settings, machine.lines.append, clock=machine.clock, processes=Processes(str(machine.proc)),
        groups=Groups(str(machine.root)), exact=ExactRecordings(seconds),
    )  # fmt: skip


def test_a_trigger_starts_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = stand_in(machine, monkeypatch, 'echo recorded > "$out"')
    rounds(machine, watcher_of(machine, not_within_s=1e9))
    assert machine.lines == []
    (call,) = calls.read_text().splitlines()
    assert call.startswith("-m tare attach 7 -q --for 2.0 -o ")
    (exact,) = (machine.folder / "snapshots").glob("*.exact.*.tare")
    assert exact.read_text() == "recorded\n"
    assert not list((machine.folder / "snapshots").glob(".new-*"))


def test_one_at_a_time(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = stand_in(machine, monkeypatch, "exec sleep 100")
    watcher = watcher_of(machine)
    rounds(machine, watcher, 5)
    assert len(calls.read_text().splitlines()) == 1
    assert len([name for name in machine.names() if ".heap." in name]) == 5
    watcher.close()
    assert not list((machine.folder / "snapshots").glob("*.exact.*"))


def test_failures_are_stated(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(machine, monkeypatch, "echo 'tare: process 7 has a strange recorder' >&2; echo more >&2; exit 125")
    rounds(machine, watcher_of(machine, not_within_s=1e9))
    assert machine.lines == ["no exact recording of process 7: process 7 has a strange recorder"]


def test_one_that_hangs_is_killed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(machine, monkeypatch, "trap '' TERM; exec sleep 100")
    rounds(machine, watcher_of(machine, not_within_s=1e9), 5, step_s=60.0)
    assert machine.lines == ["no exact recording of process 7: it didn't end in time"]


def test_no_descriptor_is_left(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(machine, monkeypatch, "exit 1")
    watcher = watcher_of(machine)
    rounds(machine, watcher, 5)
    before = len(os.listdir("/proc/self/fd"))
    rounds(machine, watcher, 20)
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # of one that runs
