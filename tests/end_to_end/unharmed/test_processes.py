"""Processes that others number otherwise, that load no library of ours, or that aren't ours at all."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed, recorded, sorted_lines

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]

NAMESPACES = {
    "unshare": ["unshare", "--pid", "--fork", "--mount-proc", "--"],
    "unshare-without-proc": ["unshare", "--pid", "--fork", "--"],
    "bwrap": ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--"],
}


def needs(*command: str | Path) -> None:
    """Skips where the command does not succeed natively: namespaces and roots need rights that not everybody has."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"{command[0]} is not installed")
    if done.returncode != 0:
        pytest.skip(f"{command[0]}: {done.stderr.strip()}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_pid_namespaces(tare: Tare, build: Build, namespace: str, mode: str) -> None:
    inside = NAMESPACES[namespace]
    needs(*inside, "true")
    program = build("two_processes.c")
    trace = assert_unharmed(tare, [*inside, program], modes=[mode], normal=sorted_lines)[mode]
    traces = [trace, *tare.others(trace.name)]
    found = [facts for path in traces for facts in tare.sql(path, "select exe, events, snapshots from process")]
    found = [facts for facts in found if facts["exe"] == str(program)]
    assert len(found) == 2, found
    for facts in found:
        assert facts["events"] > (100 if mode == "sample" else 800)
        if mode in ("snapshots", "content"):
            assert facts["snapshots"] > 0  # the process that was looked into is the one that made the recording


def test_32_bits(tare: Tare, build: Build) -> None:
    program = build("says_hello.c", "-m32")
    assert_unharmed(tare, ["sh", "-c", f"{program}; echo $?"], notice=b"built for 32 bits")


def test_another_root(tare: Tare, build: Build) -> None:
    program = build("says_hello.c")
    root = tare.folder / "root"
    needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    files = [word for word in needed.split() if word.startswith("/")]
    for file in [*files, str(program)]:
        copy = root / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    needs("chroot", root, program)
    assert_unharmed(tare, ["sh", "-c", f"chroot {root} {program}; echo $?"], notice=b"could not be recorded")


@pytest.mark.parametrize("bits", ["static", "static-pie"])
def test_static_children(tare: Tare, build: Build, bits: str) -> None:
    program = build("says_hello.c", f"-{bits}")
    assert_unharmed(tare, ["sh", "-c", f"{program}; echo $?"], notice=b"linked statically")


def test_musl(tare: Tare, build: Build) -> None:
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not installed")
    program = build("says_hello.c", compiler="musl-gcc")
    if os.path.exists("/lib/ld-musl-x86_64.so.1"):
        assert_unharmed(tare, ["sh", "-c", f"{program}; echo $?"])


def test_killed_in_its_snapshot(tare: Tare, build: Build) -> None:
    """A process that is killed while it is stopped ends like any other: without a snapshot, and without a message."""
    program = build("killed_when_traced.c", "-pthread")
    killed = 0
    for turn in range(40):
        is_child = turn % 2 == 1
        outcome = recorded(
            tare, ["sh", "-c", f"exec 2>/dev/null; {program} & wait $!"] if is_child else [program], "content"
        )
        assert outcome.stderr == b""
        killed += outcome.status == 128 + signal.SIGKILL
        if killed == 6:
            return
    pytest.fail(f"the watcher found its parent stopped in {killed} of 40 runs")
