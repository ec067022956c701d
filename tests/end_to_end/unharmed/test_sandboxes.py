"""Programs that confine themselves by seccomp: the recorder makes no call that would end them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


@pytest.mark.parametrize("way", ["stacked", "blind", "harmless", "refused"])
def test_filters(tare: Tare, build: Build, way: str) -> None:
    """A call that one filter denies hides no other filter, and a call that the kernel refuses forbids nothing."""
    traces = assert_unharmed(tare, [build("filters.c"), way], timeout_s=60)
    for trace in (traces["plain"], *tare.others("plain.tare")):
        (facts,) = tare.sql(trace, "select alloc_events, impossible_events from process")
        assert facts["impossible_events"] == 0
        assert facts["alloc_events"] >= 500_000 or way == "blind"
    assert len(tare.others("plain.tare")) == (way in ("harmless", "refused"))
