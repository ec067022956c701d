"""Watched programs that the kernel kills for want of memory: the file has the heap of that moment, by site."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
import watched
from memory_groups import inside, memory_group

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Tare

ROUNDS = int(os.environ.get("TARE_KILLS", "100"))
MIB = 1 << 20
SITES = 12
pytestmark = pytest.mark.nightly


def test_the_largest_sites_are_within_three_standard_errors(
    tare: Tare, program: Callable[..., Path], tmp_path: Path
) -> None:
    """Of 1,000 sites, chance alone puts 3 beyond three standard errors. The program counts the truth in a file of its own."""
    built = program("watched_sites.c")
    chance = random.Random(5)
    far: list[float] = []  # in standard errors
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        ledger = folder / "ledger"
        with memory_group(chance.choice([64, 128, 256]) * MIB) as group:
            done = subprocess.run(
                [*inside(group), built, ledger, str(number)],
                env=watched.environment(folder, "64K", TARE_SAMPLE_SEED=str(number + 1)),
                timeout=120,
            )
        assert done.returncode == -9
        true = struct.unpack(f"<{SITES}Q", ledger.read_bytes()[: 8 * SITES])
        (path,) = watched.files(folder)
        seen = watched.live_by_site(tare, watched.trace_of(path))
        largest = sorted(range(SITES), key=lambda site: -true[site])[:10]
        for site in largest:
            found = seen[f"site_{site}"]
            far.append(abs(found.bytes - true[site]) / found.error)
        path.unlink()
    assert len(far) == 10 * ROUNDS
    assert sum(each > 3 for each in far) <= max(2, len(far) // 100), sorted(far)[-20:]
    assert max(far) < 5
