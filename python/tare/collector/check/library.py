"""Finds libclang, and the headers that go with it."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tare.errors import USAGE, TareError

_FOLDERS = ("/usr/lib/llvm-*/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib")
_PARSES_CPP20 = 16


@cache
def load() -> None:
    """Makes `clang.cindex` usable: the newest libclang of the system, or the one that the Python package brings."""
    try:
        from clang import cindex
    except ImportError as error:
        raise TareError(
            USAGE,
            "gc check: needs libclang's Python module: pip install 'heaptare[gc-check]', or Debian's python3-clang-19",
        ) from error
    if cindex.Config.loaded:
        return
    cindex.Config.set_compatibility_check(False)
    found = _of_the_system()
    if found is not None:
        cindex.Config.set_library_file(str(found))
    try:
        cindex.conf.lib  # noqa: B018  (loads it)
    except cindex.LibclangError as error:
        raise TareError(USAGE, f"gc check: found no libclang: install libclang1-19 ({error})") from error


def _of_the_system() -> Path | None:
    """The newest that reads C++20."""
    found: list[tuple[int, Path]] = []
    for pattern in _FOLDERS:
        for folder in sorted(Path("/").glob(pattern.removeprefix("/"))):
            for file in folder.glob("libclang[-.]*so*"):
                version = re.match(r"libclang-(\d+)\.so", file.name) or re.search(r"llvm-(\d+)", str(folder))
                if (
                    version is not None
                    and int(version[1]) >= _PARSES_CPP20
                    and not file.name.startswith("libclang-cpp")
                ):
                    found.append((int(version[1]), file))
    return max(found)[1] if found else None


@cache
def header_options() -> tuple[str, ...]:
    """Where <stddef.h> and its like are: libclang has no folder of its own for them."""
    from clang import cindex

    file = Path(str(cindex.Config.library_file or "")).resolve()
    for folder in (
        *sorted(file.parent.glob("clang/*"), reverse=True),
        *sorted(Path("/usr/lib/clang").glob("*"), reverse=True),
    ):
        if (folder / "include/stddef.h").exists():
            return ("-resource-dir", str(folder))
    for compiler in ("clang++", "clang++-19"):
        if shutil.which(compiler):
            folder = Path(_ask(compiler, "-print-resource-dir"))
            if (folder / "include/stddef.h").exists():
                return ("-resource-dir", str(folder))
    if shutil.which("g++"):
        return ("-isystem", _ask("g++", "-print-file-name=include"))
    return ()


def _ask(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
