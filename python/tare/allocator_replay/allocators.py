"""Allocators to preload: by the names people use, or by the path of a library."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, NamedTuple

from tare.errors import USAGE, TareError

if TYPE_CHECKING:
    from collections.abc import Iterable

# name -> libraries in the order of preference, and Debian's package
_KNOWN = {
    "jemalloc": (("libjemalloc.so.2", "libjemalloc.so"), "libjemalloc2"),
    "mimalloc": (("libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"), "libmimalloc2.0"),
    "tcmalloc": (
        ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so", "libtcmalloc.so"),
        "libtcmalloc-minimal4",
    ),
}
GLIBC = "glibc"  # the C library's own: nothing is preloaded

# Libraries that allocators written in C++ load, and many programs have anyway: 2 MB, as much as a small heap.
_SHARED = ("libstdc++.so", "libgcc_s.so", "libm.so")

_FOLDERS = (
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib/*-linux-gnu",
    "/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
)


class Allocator(NamedTuple):
    name: str
    library: str  # to preload; empty: nothing


def find(name: str) -> Allocator:
    if name == GLIBC:
        return Allocator(name, "")
    if "/" in name:
        if not os.path.isfile(name):
            raise TareError(USAGE, f"replay: no such file: {name}")
        return Allocator(os.path.basename(name), os.path.abspath(name))
    if name not in _KNOWN:
        raise TareError(
            USAGE, f"replay: no allocator '{name}': use {', '.join([GLIBC, *_KNOWN])}, or the path of a library"
        )
    library = _installed(name)
    if not library:
        raise TareError(
            USAGE, f"replay: {name} isn't installed: Debian's package is {_KNOWN[name][1]}, or give its path"
        )
    return Allocator(name, library)


def shared_with(modules: Iterable[str]) -> list[str]:
    """Of the files that a program had loaded, those that an allocator would load, too."""
    return [
        path
        for path in dict.fromkeys(modules)
        if os.path.basename(path).startswith(_SHARED) and os.path.isfile(path) and not set(path) & {":", " "}
    ]


def installed() -> list[Allocator]:
    """The C library's, and those of the known that are here."""
    found = [Allocator(name, _installed(name)) for name in _KNOWN]
    return [Allocator(GLIBC, ""), *(each for each in found if each.library)]


def _installed(name: str) -> str:
    for library in _KNOWN[name][0]:
        for folder in _FOLDERS:
            for path in sorted(glob.glob(f"{folder}/{library}")):
                return path
    return ""
