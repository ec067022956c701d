"""Signal handlers inside hooks, on other stacks than the interrupted one."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


@pytest.mark.parametrize("way", ["autodisarm", "swapcontext"])
def test_a_handler_on_a_stack_above_the_interrupted_one(tare: Tare, build: Build, way: str) -> None:
    """The interrupted hook isn't taken for one that was left: its event is recorded, and the handler's too."""
    trace = assert_unharmed(tare, [build("other_stacks.c"), way])["plain"]
    (facts,) = tare.sql(
        trace, "select realloc_events, map_events, nested_events, impossible_events, dropped_events from process"
    )
    rounds = 50
    assert facts["realloc_events"] == rounds
    assert facts["nested_events"] == 6 * rounds
    assert facts["map_events"] >= 6 * rounds
    assert (facts["impossible_events"], facts["dropped_events"]) == (0, 0)


@pytest.mark.parametrize("mode", ["plain", "snapshots"])
def test_handlers_interrupt_hooks_that_wait_for_a_launcher_without_a_processor(
    tare: Tare, build: Build, mode: str
) -> None:
    """The launcher runs 20 ms of each 80 ms, so hooks wait for chunks, and handlers' events wait in the threads' queues.

    Those events are older than the chunk they are written into. None is lost silently, written twice, or merged behind
    later ones. On a machine under load the launcher may get no processor for so long that events are dropped.
    """
    command = [tare.command, "run", *MODES[mode], "-o", "storm.tare", "--", str(build("handler_storm.c"))]
    launcher = subprocess.Popen(command, cwd=tare.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    over = threading.Event()

    def starve() -> None:
        while not over.wait(0.02):
            launcher.send_signal(signal.SIGSTOP)
            time.sleep(0.06)
            launcher.send_signal(signal.SIGCONT)

    starving = threading.Thread(target=starve)
    starving.start()
    try:
        _, stderr = launcher.communicate(timeout=300)
    finally:
        over.set()
        starving.join()
    assert launcher.returncode == 0, stderr
    assert b"too far apart" not in stderr
    (facts,) = tare.sql("storm.tare", "select impossible_events, dropped_events, alloc_events from process")
    assert facts["impossible_events"] == 0
    assert facts["alloc_events"] == 24_000_002 or facts["dropped_events"] > 0
