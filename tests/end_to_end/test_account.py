"""The account of a real program: its parts and the unexplained rest are the peak RSS, and exact parts are most of it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conftest import Tare

# 20 MB from malloc, and 30 MB and 15 MB mapped and written by the program itself.
PROGRAM = """
import mmap, os
blocks = [bytes([i]) * 100_000 for i in range(200)]
own = mmap.mmap(-1, 30_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own.write(b"x" * 30_000_000)
shared = mmap.mmap(-1, 15_000_000)
shared.write(b"x" * 15_000_000)
os._exit(0)  # all of it is there at the exit
"""


def account(tare: Tare, *options: str, program: str = PROGRAM) -> dict[str, Any]:
    trace = tare.folder / "a.tare"
    tare("run", "-q", *options, "-o", trace, "--", sys.executable, "-c", program, env={"PYTHONMALLOC": "malloc"})
    found = json.loads(tare("report", trace, "--json").stdout)["account"]
    parts = sum(part["bytes"] for part in found["parts"])
    assert parts + found["unexplained_bytes"] == found["peak_rss_bytes"]
    return dict(found)


def test_a_snapshot_explains_most_of_the_peak_rss(tare: Tare) -> None:
    found = account(tare, "--snapshots")
    parts = {part["name"]: part["bytes"] for part in found["parts"]}
    assert all(part["exact"] for part in found["parts"])
    assert 30_000_000 <= parts["own mappings"] < 32_000_000
    assert 15_000_000 <= parts["shared memory"] < 17_000_000
    assert parts["blocks"] >= 20_000_000
    assert found["unexplained_bytes"] < 0.1 * found["peak_rss_bytes"]


# Stays until the launcher has looked at it some hundred times: each look reads a file of the kernel.
WAIT = """
def looks():
    with open(f"/proc/{os.getppid()}/io") as counters:
        return int(counters.read().split("syscr:")[1].split()[0])
enough = looks() + 600
deadline = time.monotonic() + 60
while looks() < enough and time.monotonic() < deadline:
    time.sleep(0.01)
os._exit(0)
"""


def test_a_reading_explains_most_of_a_running_program(tare: Tare) -> None:
    found = account(tare, program=PROGRAM.replace("os._exit(0)", "import time" + WAIT + "#"))
    assert found["source"] == "reading"
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["own mappings"]["most_bytes"] >= 30_000_000
    assert parts["own mappings"]["least_bytes"] < 32_000_000
    assert 15_000_000 <= parts["shared memory"]["bytes"] < 17_000_000
    assert parts["blocks"]["bytes"] >= 20_000_000
    assert parts["files"]["exact"]
    assert found["unexplained_bytes"] < 0.1 * found["peak_rss_bytes"]


# The launcher can't read while it is stopped: the peak is over when it does.
PEAK_UNREAD = """
import mmap, os, signal, time
def touch(mapping):
    for at in range(0, len(mapping), 4096):
        mapping[at] = 1
own = mmap.mmap(-1, 10_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
touch(own)
os.kill(os.getppid(), signal.SIGSTOP)
try:
    with mmap.mmap(-1, 60_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as large:
        touch(large)
finally:
    os.kill(os.getppid(), signal.SIGCONT)
"""


def test_mappings_of_an_unread_peak_are_a_bound(tare: Tare) -> None:
    found = account(tare, program=PEAK_UNREAD + WAIT)
    assert found["source"] == "reading"
    mapped = next(part for part in found["parts"] if part["name"] == "own mappings")
    assert mapped["least_bytes"] < 15_000_000
    # The kernel may join a range with one of malloc's, whose part isn't known.
    assert 66_000_000 <= mapped["bytes"] <= mapped["most_bytes"] < 75_000_000
    assert found["unexplained_bytes"] < 0.05 * found["peak_rss_bytes"]


def test_blocks_are_a_bound_where_the_program_ends_too_soon(tare: Tare) -> None:
    found = account(tare)
    blocks = next(part for part in found["parts"] if part["name"] == "blocks")
    assert not blocks["exact"]
    assert 20_000_000 <= blocks["bytes"] <= found["peak_rss_bytes"]
