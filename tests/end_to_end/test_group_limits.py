"""Programs in a control group with a memory limit, recorded from outside of it: the recorder's buffers are charged to the group, and leave it room."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from memory_groups import inside, memory_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Tare

MIB = 1 << 20
PAIRS = 4 * 400_000
# 2 MiB are the buffers of events. The rest is the program, and the recorder's private memory for each thread.
MOST_BYTES = 24 * MIB


@pytest.fixture
def group() -> Iterator[Path]:
    with memory_group(48 * MIB) as made:
        yield made


def peak_bytes(group: Path) -> int:
    for name in ("memory.peak", "memory.max_usage_in_bytes"):
        if (group / name).exists():
            return int((group / name).read_text())
    pytest.skip("the kernel has no peak of a control group")


def is_exact(tare: Tare, trace: Path) -> bool:
    (row,) = tare.sql(
        trace, "select count(*) as pairs from blocks where requested_bytes between 16 and 215 and freed_ns is not null"
    )
    (process,) = tare.sql(trace, "select dropped_events from process")
    return int(row["pairs"]) >= PAIRS and process["dropped_events"] == 0


def test_a_program_that_moves_into_a_small_group(tare: Tare, program: Callable[..., Path], group: Path) -> None:
    done = tare("run", "-q", "-o", "t.tare", "--", *inside(group), program("crowd.cc", "-O1"))
    assert done.returncode == 0, done.stderr
    assert is_exact(tare, tare.folder / "t.tare")
    assert peak_bytes(group) < MOST_BYTES


def test_a_service_in_a_small_group_is_attached_to(tare: Tare, program: Callable[..., Path], group: Path) -> None:
    command = [*inside(group), str(program("crowd.cc", "-O1")), "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdin is not None and service.stdout is not None
        assert service.stdout.readline() == "ready\n"
        recording = subprocess.Popen(
            [tare.command, "attach", "-o", "t.tare", str(service.pid)],
            cwd=tare.folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        maps = Path(f"/proc/{service.pid}/maps")
        deadline = time.monotonic() + 60
        while ".spool" not in maps.read_text():  # the recording begins with a block
            assert recording.poll() is None, recording.communicate()[1]
            assert time.monotonic() < deadline
            service.stdin.write("\n")
            service.stdin.flush()
            time.sleep(0.02)
        service.stdin.write("go\n")
        service.stdin.flush()
        assert service.wait(120) == 0
        assert recording.wait(120) == 0, recording.communicate()[1]
    assert is_exact(tare, tare.folder / "t.tare")
    assert peak_bytes(group) < MOST_BYTES
