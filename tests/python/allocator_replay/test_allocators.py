"""Allocators to preload, and what of their own libraries a program has anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.allocator_replay.allocators import shared_with

if TYPE_CHECKING:
    from pathlib import Path


def test_libraries_of_cxx_are_shared_where_they_still_are(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("libstdc++.so.6", "libm.so.6", "libmine.so", "libc.so.6", "program")]
    for path in paths:
        path.touch()
    modules = [*map(str, paths), "[vdso]", "/nowhere/libgcc_s.so.1", str(paths[0])]
    assert shared_with(modules) == [str(paths[0]), str(paths[1])]


def test_what_ld_preload_would_take_apart_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b/libm.so.6").touch()
    assert shared_with([str(tmp_path / "a b/libm.so.6")]) == []
