"""Allocators that are linked into a program or a plug-in: the recorder stays out of their way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]

ARCHIVES = Path("/usr/lib/x86_64-linux-gnu")


@pytest.mark.parametrize("work", ["reallocarray", "sized"])
def test_four_functions_of_the_programs_own(tare: Tare, build: Build, work: str) -> None:
    """The missing functions are the C library's, which call the program's; the first call of each system call is under its lock."""
    assert_unharmed(tare, [build("four_functions.c"), work])


@pytest.mark.parametrize("archive", ["libjemalloc.a", "libtcmalloc_minimal.a"])
def test_allocators_linked_statically(tare: Tare, build: Build, archive: str) -> None:
    libraries = [f"-Wl,--whole-archive,{ARCHIVES / archive},--no-whole-archive", "-ldl", "-lm", "-lstdc++"]
    assert_unharmed(tare, [build("plain_calls.c", *libraries)])


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0"])
def test_allocators_linked_dynamically(tare: Tare, build: Build, library: str) -> None:
    traces = assert_unharmed(tare, [build("plain_calls.c", "-Wl,--no-as-needed", str(ARCHIVES / library))])
    for mode, trace in traces.items():
        (facts,) = tare.sql(trace, "select impossible_events, allocator from process")
        assert (facts["impossible_events"], facts["allocator"] in library) == (0, True), (mode, facts)


@pytest.mark.parametrize("flags", [[], ["-DWAITS_FOR_ASYNC"]], ids=["thread", "async"])
@pytest.mark.parametrize("mode", MODES)
def test_a_plug_in_whose_constructor_waits_for_a_thread(tare: Tare, build: Build, flags: list[str], mode: str) -> None:
    """The thread's first operator new comes while the loader holds its lock, and what it finds leaves dlerror alone."""
    plugin = build("plugin.cc", "-shared", "-fPIC", *flags)
    static = build("plugin.cc", "-shared", "-fPIC", "-static-libstdc++", *flags)
    host = build("plugin_host.c", "-ldl")
    assert_unharmed(tare, [host, plugin, static, plugin], modes=[mode], timeout_s=30)


def test_an_interpreter_is_such_a_host(tare: Tare, build: Build) -> None:
    plugin = build("plugin.cc", "-shared", "-fPIC")
    script = f"import ctypes; ctypes.CDLL({str(plugin)!r}).work()"
    assert_unharmed(tare, ["python3", "-c", script], timeout_s=60)
