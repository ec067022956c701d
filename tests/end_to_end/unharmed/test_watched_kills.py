"""Watched programs that are killed at random moments: each time, the file has all but the event that was being written."""

from __future__ import annotations

import os
import random
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
import watched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Tare

ROUNDS = int(os.environ.get("TARE_KILLS", "100"))
pytestmark = pytest.mark.nightly
# The largest block of the program. Smaller ones stand for 24 KiB at most: 1.5 times the distance.
ONE_EVENT = 220_000


def test_no_kill_loses_more_than_an_event(tare: Tare, program: Callable[..., Path], tmp_path: Path) -> None:
    built = program("watched.c")
    chance = random.Random(4)
    last = tmp_path
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        threads = chance.choice(["0", "1", "4"])
        process = subprocess.Popen([built, "0", threads], env=watched.environment(folder, "16K"))
        time.sleep(chance.uniform(0.02, 0.4))
        process.kill()
        process.wait()
        for path in watched.files(folder):
            facts = watched.facts(path)
            assert not facts["ended"] and not facts["stopped"] and facts["process_id"] == process.pid
            balance = facts["allocated_bytes"] - facts["freed_bytes"]
            assert abs(balance - facts["live_bytes"]) <= ONE_EVENT, facts
            last = watched.trace_of(path)
            assert last.stat().st_size > 0
    assert tare("report", last).returncode == 0
