"""Recordings from files of other profilers: a file a format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from tare.imports.source_file import SourceFile
    from tare.imports.target import Target

# Format -> its files. Each is a module here with matches() and read(); the first that matches is taken.
FORMATS = {
    "heaptrack": "heaptrack's files, interpreted or raw (.zst, .gz)",
    "memray": "memray's captures, version 13 (memray 1.20), not those of --aggregate",
    "pprof": "heap profiles of pprof: Go, jemalloc's and gperftools' converted ones (.pb.gz)",
    "dhat": "valgrind --tool=dhat: dhat.out.PID, version 2",
    "massif": "valgrind --tool=massif: massif.out.PID",
    "jeprof": "heap profiles of jemalloc and of gperftools' tcmalloc (.heap)",
    "ltrace": "text of ltrace or of LD_DEBUG-like wrappers: a line for each call of malloc, calloc, realloc and free",
}


class Format(Protocol):
    def matches(self, head: bytes) -> bool:
        """True if a file that begins so, unpacked, has this format."""

    def read(self, source: SourceFile, target: Target) -> None:
        """Reads the file into the target, which isn't open yet. Raises Damaged for impossible values."""


def format_named(name: str) -> Format:
    return cast("Format", import_module(f"tare.imports.{name}"))
