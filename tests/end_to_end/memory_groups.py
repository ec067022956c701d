"""Control groups with a memory limit, for tests that may make one: root, outside most containers."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def memory_group(limit_bytes: int, *, swap: bool = False) -> Iterator[Path]:
    """The test is skipped if no group can be made."""
    version_2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = Path("/sys/fs/cgroup" if version_2 else "/sys/fs/cgroup/memory") / f"tare-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.max" if version_2 else "memory.limit_in_bytes")).write_text(str(limit_bytes))
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    swap_limit = group / ("memory.swap.max" if version_2 else "memory.memsw.limit_in_bytes")
    if not swap and swap_limit.exists():
        swap_limit.write_text("0" if version_2 else str(limit_bytes))
    try:
        yield group
    finally:
        group.rmdir()


def inside(group: Path) -> list[str]:
    """Words before a command that runs in the group."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
