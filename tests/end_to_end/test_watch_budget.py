"""`tare watch --budget`: a program that samples too much for its budget keeps it by a greater distance, or is watched no more. Counts, no times."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import watched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Tare

    Build = Callable[..., Path]

# Allocates and frees without end in sight, and is killed by itself: its file stays.
PYTHON = """
import json, os, signal
kept = {}
for step in range(10000):
    kept[step % 700] = json.loads(json.dumps([{"key": i, "text": "x" * i} for i in range(30)]))
os.kill(os.getpid(), signal.SIGKILL)
"""
PROGRAM = [sys.executable, "-c", PYTHON]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watch"
    made.mkdir()
    return made


def killed(folder: Path, sample: str, budget: str = "") -> dict[str, object]:
    """The facts of a Python program that was watched to its end."""
    more = {"TARE_BUDGET": budget} if budget else {}
    done = watched.watched(folder, *PROGRAM, sample=sample, PYTHONMALLOC="malloc", **more)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stderr == ""
    (path,) = watched.files(folder)
    return watched.facts(path)


def samples(facts: dict[str, object]) -> int:
    return int(str(facts["allocated_samples"]))


def test_a_cpu_share_is_kept_by_a_greater_distance(tmp_path: Path) -> None:
    free = killed(tmp_path / "free", "256")
    kept = killed(tmp_path / "kept", "256", "cpu=0.5%")
    assert free["sample_bytes"] == free["first_sample_bytes"] == 256
    assert free["budget_cpu_share"] == 0
    assert not kept["stopped"]
    assert kept["first_sample_bytes"] == 256
    assert kept["budget_cpu_share"] == pytest.approx(0.005)
    # The distance is a power of two times the first, and samples are fewer by as much or more, but for those before it was doubled.
    assert int(str(kept["sample_bytes"])) in [256 << times for times in range(4, 24)]
    assert samples(kept) < samples(free) / 8
    assert 0 < int(str(kept["recorder_ns"])) < int(str(kept["process_ns"]))
    # The sums are the program's, at either distance: one sample in so many bytes, five standard errors.
    total = float(str(free["allocated_bytes"]))
    error = (int(str(kept["sample_bytes"])) / total) ** 0.5
    assert float(str(kept["allocated_bytes"])) == pytest.approx(total, rel=5 * error)


def test_a_budget_that_is_large_enough_changes_nothing(tmp_path: Path) -> None:
    facts = killed(tmp_path / "large", "512K", "cpu=100%,memory=1G,disk=1G")
    assert facts["sample_bytes"] == facts["first_sample_bytes"] == 512 << 10
    assert not facts["stopped"]
    assert 0 < int(str(facts["recorder_ns"])) < int(str(facts["process_ns"]))
    assert 0 < int(str(facts["recorder_bytes"])) < 16 << 20


def test_the_file_keeps_to_the_disk_limit(folder: Path) -> None:
    facts = killed(folder, "256", "disk=384K")
    (path,) = watched.files(folder)
    assert path.stat().st_blocks * 512 <= 384 << 10
    assert not facts["stopped"]
    assert int(str(facts["sample_bytes"])) > 256


def test_memory_that_no_distance_keeps_stops_the_recording(tare: Tare, program: Build, folder: Path) -> None:
    built = program("watched.c")
    environment = watched.environment(folder, "256", TARE_BUDGET="memory=300K", TARE_WATCH_KEEP="1")
    done = subprocess.run(
        [str(built), "200000", "2", "end"], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        f"tare: the budget's memory can't be kept at any distance between samples; {built.name} runs on, what it does from now on "
        "is not recorded\n"
    )
    (path,) = watched.files(folder)
    assert watched.facts(path)["stopped"] == "the budget's memory can't be kept at any distance between samples"
    trace = watched.trace_of(path)
    assert "the memory of --budget couldn't be kept, so recording stopped" in " ".join(
        tare("report", trace).stdout.split()
    )
    assert '"after-memory-budget"' in tare("report", trace, "--json").stdout


def test_the_verb_passes_the_budget_on(tare: Tare, folder: Path) -> None:
    command = [tare.command, "watch", "--dir", folder, "--socket", "none", "--budget", "--", sys.executable, "-c"]
    shown = "import os; print(os.environ['TARE_BUDGET'])"
    done = subprocess.run([*map(str, command), shown], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "cpu=0.5%\n"), done.stderr
    command[command.index("--budget")] = "--budget=cpu=1%,memory=16M"
    done = subprocess.run([*map(str, command), shown], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"cpu=1%,memory={16 << 20}\n"), done.stderr


def test_a_wrong_variable_is_reported_once(folder: Path) -> None:
    environment = watched.environment(folder, "64K", TARE_BUDGET="cpu=lots")
    done = subprocess.run(
        [sys.executable, "-c", ""], env=environment, capture_output=True, text=True, timeout=120, cwd=os.getcwd()
    )
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "TARE_BUDGET has no limits such as cpu=0.5%" in done.stderr
