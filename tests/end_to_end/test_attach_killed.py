"""`tare attach` that is killed while it loads the recorder: wherever that happens, the program continues as if nothing had been."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Tare

    Build = Callable[..., Path]

KILLS = int(os.environ.get("TARE_KILLS", "100"))

# Requests of ptrace.
ALL, POKEDATA, SETREGS, SYSCALL, SEIZE, INTERRUPT, SETSIGMASK, DETACH = -1, 5, 13, 24, 0x4206, 0x4207, 0x420B, 17
# Before the thread is led away, while it is, in the calls of the loader, and while it is given back.
STEPS = [
    (SEIZE, 1), (INTERRUPT, 1), (POKEDATA, 1), (POKEDATA, 40), (SETREGS, 1), (SETSIGMASK, 1), (SYSCALL, 1), (SYSCALL, 5),
    (SYSCALL, 9), (SYSCALL, 20), (SYSCALL, 40), (SYSCALL, 60), (SETSIGMASK, 2), (SETREGS, 2), (POKEDATA, 100), (DETACH, 1),
]  # fmt: skip

PYTHON = """
import hashlib, json, os, sys
def work():
    digest = hashlib.sha256()
    for i in range(50):
        digest.update(json.dumps({str(j): [j] * (j % 50) for j in range(100)}).encode())
    return digest.hexdigest()
first = work()
while not os.path.exists(sys.argv[1]):
    assert work() == first
print(first)
"""


def command_of(kind: str, program: Build, stop: Path) -> list[str | Path]:
    if kind == "python":
        return [shutil.which("python3", path="/usr/bin") or sys.executable, "-c", PYTHON, stop]
    if kind == "threads":
        return [program("unprepared.cc"), "20000", "4", "1", stop]
    if kind == "tight":
        return [program("unprepared.cc"), "300000", "1", "0", stop]
    return [program("unprepared_waits.c"), stop]


@contextmanager
def running(tare: Tare, program: Build, kind: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """Its output, when it is stopped, is that of the program alone, and it succeeds."""
    stop = tare.folder / f"{name}.stop"
    command = command_of(kind, program, stop)
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
    try:
        wait_until_started(process.pid, kind)
        yield process
        assert process.poll() is None, process.stdout and process.stdout.read()
        stop.touch()
        output = process.communicate(timeout=120)[0]
        assert process.returncode == 0, output
        if kind == "waits":
            assert output == "right\n"
        else:
            assert output == subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout
    finally:
        process.kill()
        process.wait()


def mask_in(status: Path) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith("SigBlk"))
    return int(line.split()[1], 16)


def masks_of(pid: int) -> list[int]:
    """Blocked signals of each thread."""
    return [mask_in(task / "status") for task in Path(f"/proc/{pid}/task").iterdir()]


def masks_alone(kind: str) -> list[int]:
    """They aren't read from the program: it may still be starting, and changes them while it waits for a signal."""
    mask = mask_in(Path("/proc/thread-self/status"))
    if kind == "waits":
        mask |= 1 << (signal.SIGALRM - 1)
    return [mask] * (4 if kind == "threads" else 1)


def wait_until_started(pid: int, kind: str) -> None:
    """Its threads or its mask show that it runs, or else its CPU time: on a busy machine, it takes seconds to get there."""
    ticks = 10 if kind in ("tight", "python") else 0
    deadline = time.monotonic() + 60
    while masks_of(pid) != masks_alone(kind) or ticks_of(pid) < ticks:
        assert time.monotonic() < deadline, (masks_of(pid), ticks_of(pid))
        time.sleep(0.01)


def ticks_of(pid: int) -> int:
    """Of CPU time: 10 ms each."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def wait_until_alone(pid: int, kind: str) -> None:
    """All threads are where they were: with their signals, and without the memory of the detour."""
    deadline = time.monotonic() + 60
    while masks_of(pid) != masks_alone(kind) or detours_of(pid):
        assert time.monotonic() < deadline, (masks_of(pid), detours_of(pid))
        time.sleep(0.01)


def detours_of(pid: int) -> list[str]:
    """Mappings of the size that only the detour's memory has."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
        if end - start == 576 << 10 and len(line.split()) < 6:
            found.append(line)
    return found


def attach_killed(tare: Tare, killer: Path, pid: int, request: int, number: int) -> bool:
    """False: it ended before that call."""
    environment = {**os.environ, "LD_PRELOAD": str(killer), "TARE_KILL_AT": f"{request}:{number}"}
    attach = subprocess.run(
        [tare.command, "attach", str(pid), "-q", "-o", "killed.tare", "--for", "0.05"],
        cwd=tare.folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert attach.returncode in (0, -signal.SIGKILL), attach.stderr
    return attach.returncode != 0


def assert_recorded(tare: Tare, pid: int) -> None:
    done = tare("attach", str(pid), "-q", "-o", "after.tare", "--for", "1")
    assert done.returncode == 0, done.stderr
    (facts,) = tare.sql(tare.folder / "after.tare", "select alloc_events, impossible_events from process")
    assert facts["alloc_events"] > 0 and facts["impossible_events"] == 0


# "waits" failed beside other work until decision 0538.
@pytest.mark.parametrize("kind", [pytest.param("waits", marks=pytest.mark.nightly), "threads"])
def test_killed_at_each_step(tare: Tare, program: Build, kind: str) -> None:
    killer = program("killed_at_call.c", "-shared", "-fPIC")
    steps = STEPS if kind == "waits" else STEPS[4::3]
    killed = 0
    for request, number in steps:
        with running(tare, program, kind, f"{request}-{number}") as process:
            killed += attach_killed(tare, killer, process.pid, request, number)
            wait_until_alone(process.pid, kind)
            if (request, number) == (SYSCALL, 20):
                assert_recorded(tare, process.pid)
    assert killed >= len(steps) - 1


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["waits", "threads", "tight", "python"])
def test_killed_at_any_call(tare: Tare, program: Build, kind: str) -> None:
    """One program lives through all the kills; each tenth is a new one, which has no recorder yet."""
    killer = program("killed_at_call.c", "-shared", "-fPIC")
    chance = random.Random(kind)
    killed = 0
    for start in range(0, KILLS, 10):
        with running(tare, program, kind, str(start)) as process:
            for _ in range(min(10, KILLS - start)):
                killed += attach_killed(tare, killer, process.pid, ALL, chance.randint(1, 700))
                wait_until_alone(process.pid, kind)
            assert_recorded(tare, process.pid)
    assert killed > KILLS / 4


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["waits", "threads", "tight", "python"])
def test_killed_at_random_times(tare: Tare, program: Build, kind: str) -> None:
    chance = random.Random(kind)
    for start in range(0, KILLS, 5):
        with running(tare, program, kind, str(start)) as process:
            for _ in range(min(5, KILLS - start)):
                command = [tare.command, "attach", str(process.pid), "-q", "-o", "killed.tare"]
                attach = subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.DEVNULL)
                deadline = time.monotonic() + 60
                while not is_traced(process.pid) and attach.poll() is None:
                    assert time.monotonic() < deadline
                time.sleep(chance.uniform(0, 0.03))
                attach.kill()
                attach.wait(timeout=60)
                wait_until_alone(process.pid, kind)
            assert_recorded(tare, process.pid)


def is_traced(pid: int) -> bool:
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        if any(line.startswith("TracerPid:") and not line.endswith("\t0") for line in lines):
            return True
    return False
