"""Allocators of docs/allocators.md that need no description: their blocks are malloc's, each with its size and its end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
Counts = dict[int, tuple[int, int]]  # by requested size: all blocks, those that are live at the end

THREADS = """
import ctypes, os, threading
def run(work):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(0)
"""
TALLOC = """
talloc = ctypes.CDLL("libtalloc.so.2")
make, drop = talloc.talloc_named_const, talloc._talloc_free
make.restype, make.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
drop.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
def work():
    for _ in range(20):
        parent = make(None, 6500, b"parent")
        for _ in range(50):
            make(make(parent, 7000, b"child"), 7100, b"grandchild")
        drop(parent, b"here")
    parent = make(None, 6600, b"kept")
    for _ in range(50):
        make(parent, 7200, b"child")
run(work)
"""
SQLITE = """
sqlite = ctypes.CDLL("libsqlite3.so.0")
get, resize, put = sqlite.sqlite3_malloc64, sqlite.sqlite3_realloc64, sqlite.sqlite3_free
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_uint64]
resize.restype, resize.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_uint64]
put.argtypes = [ctypes.c_void_p]
sqlite.sqlite3_initialize()
def work():
    for _ in range(1000):
        put(resize(get(7000), 7200))
    for _ in range(50):
        resize(get(7000), 7400)
run(work)
"""
SLICES = """
glib = ctypes.CDLL("libglib-2.0.so.0")
get, put = glib.g_slice_alloc, glib.g_slice_free1
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
put.argtypes = [ctypes.c_size_t, ctypes.c_void_p]
def work():
    for _ in range(1000):
        put(7000, get(7000))
    for _ in range(50):
        get(7200)
run(work)
"""
LUA = """
local kept = {}
for round = 1, 20 do
  for i = 1, 50 do kept[i] = string.rep("x", 7000) end
end
for i = 1, 50 do kept[i] = string.rep("x", 7200) end
collectgarbage()
os.exit(true, false)
"""
RUBY = """
kept = 4.times.map { Thread.new { (1..50).map { "x" * 7200 } } }.map(&:value)
20.times { (1..50).map { "y" * 7000 } }
exit!(0)
"""
PERL = """
for my $round (1..20) { my @gone = map { "y" x $_ } (7000) x 50; }
my @kept;
push @kept, "x" x $_ for (7200) x 50;
use POSIX; POSIX::_exit(0);
"""


def counts(tare: Tare, *program: str | Path, env: dict[str, str] | None = None) -> Counts:
    """Of blocks of 4,000 to 7,500 bytes. Each event fits those before it."""
    trace = tare.record(*program, env=env)
    report = tare.report(trace)
    assert report["impossible_events"] == report["dropped_events"] == 0
    rows = tare.sql(
        trace,
        "select requested_bytes as size, sum(total_blocks)::bigint as total, sum(end_blocks)::bigint as kept"
        " from site_sizes where requested_bytes between 4000 and 7500 group by 1",
    )
    return {row["size"]: (row["total"], row["kept"]) for row in rows}


def in_threads(tare: Tare, work: str, env: dict[str, str] | None = None) -> Counts:
    return counts(tare, sys.executable, "-c", THREADS + work, env=env)


@pytest.mark.skipif(find_library("talloc") is None, reason="libtalloc isn't installed")
def test_blocks_of_talloc_end_with_their_parents(tare: Tare) -> None:
    found = in_threads(tare, TALLOC)
    header = 96
    assert found[6500 + header] == (80, 0)
    assert found[7000 + header] == (4000, 0)
    assert found[7100 + header] == (4000, 0)
    assert found[6600 + header] == (4, 4)
    assert found[7200 + header] == (200, 200)


@pytest.mark.skipif(find_library("sqlite3") is None, reason="libsqlite3 isn't installed")
def test_blocks_of_sqlite(tare: Tare) -> None:
    found = in_threads(tare, SQLITE)
    header = 8
    assert found[7000 + header] == (4200, 0)
    assert found[7200 + header] == (4000, 0)
    assert found[7400 + header] == (200, 200)


@pytest.mark.skipif(find_library("glib-2.0") is None, reason="GLib isn't installed")
def test_slices_of_glib_as_blocks(tare: Tare) -> None:
    found = in_threads(tare, SLICES, env={"G_SLICE": "always-malloc"})
    assert found[7000] == (4000, 0)
    assert found[7200] == (200, 200)


def test_chunks_of_obstacks(tare: Tare, program: Program) -> None:
    assert counts(tare, program("obstack_user.c"))[4064] == (4 * (5 * 10 + 2), 4 * 2)


@pytest.mark.skipif(shutil.which("lua5.4") is None, reason="Lua isn't installed")
def test_strings_of_lua(tare: Tare) -> None:
    (tare.folder / "strings.lua").write_text(LUA)
    found = counts(tare, "lua5.4", "strings.lua")
    header = 25
    assert found[7000 + header] == (1000, 0)
    assert found[7200 + header] == (50, 50)


@pytest.mark.skipif(shutil.which("ruby") is None, reason="Ruby isn't installed")
def test_strings_of_ruby(tare: Tare) -> None:
    found = counts(tare, "ruby", "-e", RUBY)
    assert found[7001][0] == 1000
    assert found[7201] == (200, 200)


@pytest.mark.skipif(shutil.which("perl") is None, reason="Perl isn't installed")
def test_strings_of_perl(tare: Tare) -> None:
    found = counts(tare, "perl", "-e", PERL)

    def of_length(length: int) -> tuple[int, int]:
        """Perl rounds the length with its terminating zero up."""
        rows = [found[size] for size in found if length < size <= length + 16]
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    assert of_length(7000) == (1000, 0)
    assert of_length(7200) == (50, 50)
