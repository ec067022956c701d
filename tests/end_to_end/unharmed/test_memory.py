"""Memory that goes away or can't be read while the recorder looks at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import assert_unharmed, outcome_of

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def test_stacks_that_the_c_library_unmaps(tare: Tare, build: Build) -> None:
    for trace in assert_unharmed(tare, [build("stale_stack.c")]).values():
        (facts,) = tare.sql(trace, "select impossible_events from process")
        assert facts["impossible_events"] == 0


@pytest.mark.parametrize("way", ["mprotect", "syscall"])
@pytest.mark.parametrize("mebibytes", ["1", "200"])
def test_a_block_with_a_page_that_cannot_be_read(tare: Tare, build: Build, mebibytes: str, way: str) -> None:
    assert_unharmed(tare, [build("protected_page.c"), mebibytes, way])


@pytest.mark.parametrize("way", ["munmap", "mremap", "sbrk"])
def test_places_that_another_thread_takes_at_once(tare: Tare, build: Build, way: str) -> None:
    """What a call unmaps is gone before the call returns, for another thread may have it by then."""
    program = build(
        "reused_mappings.c", "-Wl,--no-as-needed", str(build("slow_unmapping.c", "-shared", "-fPIC")), "-ldl"
    )
    trace = assert_unharmed(tare, [program, way])["plain"]
    mapped = int(outcome_of([program, way], tare.folder).stdout)
    (facts,) = tare.sql(trace, "select mapped_end_bytes from process")
    assert facts["mapped_end_bytes"] == mapped
