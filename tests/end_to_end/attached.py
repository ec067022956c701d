"""Programs that run before `tare attach` finds them, and what a recording of one has."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Tare


@contextmanager
def running(*command: str | Path, stdin: int | None = None, before: float = 0.3) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*map(str, command)], stdin=stdin, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(before)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()


def recorded(tare: Tare, pid: int, name: str) -> int:
    """Attaches until the program has allocated more than 20 times, longer on a busy machine; all events are possible."""
    events = 0
    for seconds in ("0.3", "2", "10"):
        done = tare("attach", str(pid), "-q", "-o", name, "--for", seconds)
        assert done.returncode == 0, done.stderr
        if not (tare.folder / name).exists():
            continue
        (facts,) = tare.sql(tare.folder / name, "select alloc_events, impossible_events, dropped_events from process")
        assert facts["impossible_events"] == facts["dropped_events"] == 0
        events = facts["alloc_events"]
        if events > 20:
            break
    return events
