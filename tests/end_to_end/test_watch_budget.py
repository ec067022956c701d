"""`tare watch --budget`: how a program gets its limits, and the end of a recording that can't keep them."""

from __future__ import annotations

import os
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watch"
    made.mkdir()
    return made


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


def test_a_sandbox_without_clocks_kills_no_program(program: Build, folder: Path) -> None:
    """A budget reads the CPU time, for which there is no way without a system call."""
    done = watched.watched(
        folder, program("no_clock.c"), sample="4K", TARE_BUDGET="cpu=0.5%,memory=8M,disk=1M", TARE_WATCH_KEEP="1"
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    (path,) = watched.files(folder)
    assert watched.facts(path)["allocated_bytes"] > 0


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
