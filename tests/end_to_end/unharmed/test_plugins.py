"""Plug-ins that go away while the recorder knows of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from unharmed import assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def test_a_plug_in_that_is_unloaded_while_others_allocate(tare: Tare, build: Build) -> None:
    """Their full chunks are when modules are looked at: not at the one that is being unmapped."""
    plugin = build("unloaded_plugin.c", "-DPLUGIN", "-shared", "-fPIC")
    traces = assert_unharmed(tare, [build("unloaded_plugin.c", "-ldl"), plugin, "2000"])
    (facts,) = tare.sql(traces["plain"], "select impossible_events from process")
    assert facts["impossible_events"] == 0
