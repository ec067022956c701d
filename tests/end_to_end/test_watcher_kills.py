"""The watcher's own life: killed at any time, in another PID namespace than its programs, and flat memory over many rounds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tare import _core
from test_watch import MIB, answers, grow, growing, metric, running, snapshots, until, watching

if TYPE_CHECKING:
    from conftest import Tare

NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "heap"
    made.mkdir()
    return made


@pytest.fixture
def namespace() -> list[str]:
    done = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no PID namespace can be made: {done.stderr}")
    return NAMESPACE


def test_the_watcher_is_killed_at_any_time(tare: Tare, folder: Path) -> None:
    """Each snapshot that is there can be read, and nothing unfinished stays."""
    chance = random.Random(5)
    command = [tare.command, "watch", "--serve", folder, "--poll", "10ms", "--every", "10ms", "--keep-count", "5"]
    with growing(folder) as program:
        for _ in range(15):
            with running(command) as watcher:
                until(lambda: answers(folder), "the watcher has started")
                for _ in range(3):
                    grow(program, 1)
                    time.sleep(chance.random() / 10)
                watcher.kill()
                watcher.wait()
        program.kill()
        program.wait()
    with watching(tare, folder, "--keep-count", "5"):
        until(lambda: snapshots(folder, "killed"), "the final snapshot")
        until(lambda: not list(folder.glob("*.watch")), "the file goes")
    names = os.listdir(folder / "snapshots")
    assert not [name for name in names if name.startswith(".new-")]
    kept = snapshots(folder)
    assert len(kept) <= 5
    assert {f"{path.name}.note" for path in kept if ".killed." in path.name} == {
        n for n in names if n.endswith(".note")
    }
    for path in kept:
        assert _core.open(str(path), None, lambda _done, _all: None, None, False).table("process").rows == 1


def test_a_program_in_a_namespace_inside(tare: Tare, folder: Path, namespace: list[str]) -> None:
    """Its number there is 1 or 2, and belongs to another process here."""
    with growing(folder, *namespace) as unshared:
        grow(unshared, 3)
        with watching(tare, folder, "--every", "100ms"):
            (number,) = [int(path.name.split(".")[0]) for path in folder.glob("*.watch") if len(path.name) < 10]
            until(lambda: [path for path in snapshots(folder, "timer") if f".{number}-" in path.name], "a snapshot")
            assert max(metric(folder, "tare_process_resident_bytes")) > 3 * MIB
            unshared.kill()  # and with it the program
            until(lambda: [path for path in snapshots(folder, "killed") if f".{number}-" in path.name], "the final one")
    assert tare.report(f"{folder}/{number}@last")["watched_end"]["out_of_memory"] == "no"


def test_a_watcher_in_a_namespace_beside(tare: Tare, folder: Path, namespace: list[str]) -> None:
    """It sees no process, so it keeps the file of one that may be idle."""
    command = [
        *namespace,
        tare.command,
        "watch",
        "--serve",
        folder,
        "--poll",
        "100ms",
        "--every",
        "100ms",
        "--dead-after",
        "1s",
    ]
    with growing(folder) as program, running(command):
        until(lambda: answers(folder), "the watcher has started")
        grow(program, 2)
        until(lambda: snapshots(folder, "silent"), "silence")
        before = len(snapshots(folder, "timer"))
        grow(program, 2)
        until(lambda: len(snapshots(folder, "timer")) > before, "it goes on")
        (path,) = folder.glob("*.watch")
        program.send_signal(signal.SIGKILL)
        program.wait()
        until(lambda: len(snapshots(folder, "silent")) == 2, "silence again")
        assert path.exists()
    assert "it may be idle, or it was killed" in " ".join(tare("report", f"{folder}@last").stdout.split())


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


MANY_ROUNDS = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from tare.watch.folder import Folder
from tare.watch.snapshots import Limits
from tare.watch.watcher import Settings, Watcher
from test_watch import grow, growing
from test_watcher_kills import resident
folder = Path(sys.argv[1])
with growing(folder) as program:
    watcher = Watcher(Folder(str(folder)), Settings(every_s=1e-9, limits=Limits(20, 1 << 30)), print)
    sizes = []
    for number in range(3000):
        if number % 20 == 0:
            grow(program, 1 if number < 600 else 0)
            program.stdin.write("more\\n") if number % 200 == 0 else None
            program.stdin.flush()
        watcher.round()
        if number in (999, 2999):
            sizes.append(resident())
    print(watcher.taken["timer"], sizes[1] - sizes[0], sizes[1])
"""


def test_many_rounds_need_no_more_memory(folder: Path) -> None:
    """In a process of its own, with the core's reader. 2,000 rounds after the first 1,000."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_ROUNDS, folder, *sys.path],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    taken, grown, whole = map(int, done.stdout.split())
    assert taken > 40
    assert grown < 2 * MIB
    assert whole < 128 * MIB
