"""Limits of the shell's that hold for the recorder and its launcher as for the program, and what a killed one leaves."""

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
from memory_groups import inside, memory_group
from unharmed import MODES, outcome_of

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


@pytest.fixture
def spool_parent(tmp_path: Path) -> Path:
    folder = tmp_path / "spools"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("mebibytes", [100, 150, 200, 250, 300, 400, 600])
@pytest.mark.parametrize("program", ["many_processes.c", "two_processes.c"])
def test_address_space(tare: Tare, build: Build, spool_parent: Path, program: str, mebibytes: int) -> None:
    """Under `ulimit -v` the program is started and ends as it would, or it isn't started: never something between."""
    command = str(build(program))
    limited = ["sh", "-c", f'ulimit -v {mebibytes * 1024}; exec "$@"', "sh"]
    native = outcome_of([*limited, command], tare.folder)
    env = {"TARE_SPOOL_PARENT": str(spool_parent)}
    run = [tare.command, "run", "-q", "-o", "t.tare", "--", command]
    seen = outcome_of([*limited, *run], tare.folder, env=env)
    if seen.status == 125 or not seen.stdout:  # Python itself had no room
        assert seen.stdout == b""
        assert b"bug" not in seen.stderr
    else:
        assert (seen.status, sorted(seen.stdout.splitlines())) == (native.status, sorted(native.stdout.splitlines()))
        assert all(line.startswith(b"tare: ") for line in seen.stderr.splitlines())
    assert list(spool_parent.iterdir()) == []


@pytest.mark.parametrize("mebibytes", [100, 1000])
def test_address_space_taken(tare: Tare, mebibytes: int) -> None:
    """As docs/recording.md has it: 2 MiB for process and thread, 5.5 MiB or a tenth of the limit, and the library."""
    read = ["sh", "-c", f'ulimit -v {mebibytes * 1024}; exec "$@"', "sh", "cat", "/proc/self/status"]

    def kibibytes(command: list[str]) -> int:
        status = outcome_of(command, tare.folder).stdout.decode()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmSize:"))

    native = kibibytes(read)
    recorded = kibibytes([tare.command, "run", "-q", "-o", "t.tare", "--", *read])
    assert native < recorded < native + max(5.5, mebibytes / 10) * 1024 + 4096


def test_children_killed_at_their_start(tare: Tare, build: Build, spool_parent: Path) -> None:
    """Their unfinished spools go with the recording."""
    hello = build("says_hello.c")
    script = f"for i in $(seq 60); do {hello} >/dev/null & kill -9 $!; done; wait; echo done"
    seen = outcome_of(
        [tare.command, "run", "-q", "-o", "t.tare", "--", "bash", "-c", script],
        tare.folder,
        env={"TARE_SPOOL_PARENT": str(spool_parent)},
    )
    assert (seen.status, seen.stdout) == (0, b"done\n")
    assert list(spool_parent.iterdir()) == []


def test_clean(tare: Tare, build: Build, spool_parent: Path) -> None:
    """Keeps folders in use, deletes those that nobody uses, touches nothing else."""
    (spool_parent / "tare-abcdef").mkdir()
    (spool_parent / "tare-abcdef" / "control").write_text("mine")
    env = {**os.environ, "TARE_SPOOL_PARENT": str(spool_parent)}

    def clean(*options: str) -> dict[str, dict[str, object]]:
        out = subprocess.run(
            [tare.command, "clean", "--json", *options, spool_parent],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [json.loads(line) for line in out.stdout.splitlines()]
        return {row["folder"]: row for row in rows if row["folder"].startswith(str(spool_parent))}

    command = [tare.command, "run", "-q", "-o", "t.tare", "--", "sh", "-c", "sleep 100; true"]
    launcher = subprocess.Popen(command, cwd=tare.folder, env=env, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not list(spool_parent.rglob("*.spool")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        ((folder, row),) = clean("--dry-run").items()
        assert row["reason"] == "its recording is running"
        launcher.kill()
        launcher.wait()
        assert "still use" in str(clean()[folder]["reason"])
    finally:
        os.killpg(launcher.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while clean("--dry-run")[folder]["action"] == "kept":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert clean("--dry-run")[folder]["action"] == "would be deleted"
    assert clean()[folder]["action"] == "deleted"
    assert clean() == {}
    assert [path.name for path in spool_parent.iterdir()] == ["tare-abcdef"]


@pytest.mark.parametrize("mode", MODES)
def test_memory_of_a_control_group(tare: Tare, build: Build, mode: str) -> None:
    """Launcher and spool leave enough of the group's memory for the program."""
    program = [str(build("takes_memory.c")), "210"]
    run = [tare.command, "run", "-q", "-o", "t.tare", *MODES[mode], "--"]
    with memory_group(300 << 20, swap=True) as group:
        native = outcome_of([*inside(group), *program], tare.folder)
        assert native.status == 6
        assert outcome_of([*inside(group), *run, *program], tare.folder) == native
