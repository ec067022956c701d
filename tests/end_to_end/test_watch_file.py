"""Watch files: what a process left behind when it was killed, compared with an exact recording of the same run."""

from __future__ import annotations

import random
import signal
import sys
from typing import TYPE_CHECKING

import pytest
import watched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Tare

    Build = Callable[..., Path]

PYTHON = """
import json, os, random, signal
chance = random.Random(7)
kept = {}
for step in range(int(os.environ["STEPS"])):
    kept[chance.randrange(40000)] = [bytearray(chance.randrange(3000)), str(step) * chance.randrange(20)]
    if step % 50 == 0:
        kept[-step % 400 - 1] = json.loads(json.dumps([{"key": i, "text": "x" * i} for i in range(chance.randrange(90))]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watch"
    made.mkdir()
    return made


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_program_left_its_heap_behind(tare: Tare, program: Build, folder: Path, seed: int) -> None:
    built = program("watched.c")
    steps = str(random.Random(seed).randrange(20_000, 400_000))
    assert watched.watched(folder, built, steps).returncode == -signal.SIGKILL
    (path,) = watched.files(folder)
    assert [entry.name for entry in folder.iterdir()] == [path.name]
    tare("run", "-q", "-o", "exact.tare", "--", built, steps)
    watched.check_sites(tare, path, tare.folder / "exact.tare", 4)
    facts = watched.facts(path)
    assert not facts["ended"] and not facts["stopped"] and facts["sample_bytes"] == 16 << 10
    assert facts["executable"] == str(built) and facts["command_line"] == [str(built), steps]
    live = tare.sql(tare.folder / "exact.tare", "select end_usable_bytes as bytes from process")[0]["bytes"]
    assert abs(facts["live_bytes"] - live) <= 3 * facts["live_bytes_error"]
    # The sums, without the blocks' weights at their ends: live is what was allocated and not freed.
    assert facts["allocated_bytes"] - facts["freed_bytes"] == pytest.approx(facts["live_bytes"])


def test_a_killed_python_left_its_heap_behind(tare: Tare, folder: Path) -> None:
    steps = {"STEPS": str(random.Random(1).randrange(20_000, 60_000)), "PYTHONHASHSEED": "0"}
    program = [sys.executable, "-c", PYTHON]
    assert watched.watched(folder, *program, **steps).returncode == -signal.SIGKILL
    (path,) = watched.files(folder)
    tare("run", "-q", "-o", "exact.tare", "--", *program, env=steps)
    watched.check_sites(tare, path, tare.folder / "exact.tare", 6)


def test_the_recording_of_a_watch_file_is_a_recording(tare: Tare, program: Build, folder: Path) -> None:
    watched.watched(folder, program("watched.c"), "50000")
    (path,) = watched.files(folder)
    trace = watched.trace_of(path)
    (process,) = tare.sql(trace, "select imported_from, sample_bytes, end_usable_bytes from process")
    facts = watched.facts(path)
    assert process["imported_from"] == "tare watch"
    assert process["sample_bytes"] == 16 << 10
    assert process["end_usable_bytes"] == pytest.approx(facts["live_bytes"], rel=1e-4)
    assert "watched" in tare("report", trace).stdout


def test_an_exit_in_order_leaves_nothing(program: Build, folder: Path) -> None:
    assert watched.watched(folder, program("watched.c"), "20000", "0", "end").returncode == 0
    assert watched.files(folder) == []


def test_a_kept_file_is_marked_as_ended(program: Build, folder: Path) -> None:
    assert watched.watched(folder, program("watched.c"), "20000", "0", "end", TARE_WATCH_KEEP="1").returncode == 0
    (path,) = watched.files(folder)
    assert watched.facts(path)["ended"]
