"""Findings that the code of their site gives a reason to doubt, or to expect more of."""

from __future__ import annotations

import os
import stat
from functools import cache
from typing import TYPE_CHECKING

from tare.analysis.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tare.analysis.ledger import Finding
    from tare.naming.names import Frame

    Doubt = Callable[[Finding, Frame, str], Finding]

# Names in an ELF file's table of strings end with a NUL; behind a prefix, jemalloc has the same function.
_USABLE_SIZE = b"malloc_usable_size\0"
_PIECE_BYTES = 1 << 20
_MOST_BYTES = 64 << 20  # linkers put the table of imported names at the beginning of a file


@cache
def may_use_slop(path: str) -> bool:
    """True if the file has the name of malloc_usable_size. False if the file can't be read. The path comes from a trace: it may name a pipe."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):  # ValueError: a path with a NUL
        return False
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return False
        return _contains(file, _USABLE_SIZE)
    except OSError:
        return False
    finally:
        os.close(file)


def _contains(file: int, name: bytes) -> bool:
    """Reads the file instead of mapping it: a file that is cut meanwhile ends the search, and not this program."""
    tail = b""
    for _ in range(0, _MOST_BYTES, _PIECE_BYTES):
        piece = os.read(file, _PIECE_BYTES)
        if name in tail + piece:
            return True
        if not piece:
            return False
        tail = piece[1 - len(name) :]
    return False


def _slop(finding: Finding, frame: Frame, program: str) -> Finding:
    """A growing buffer of such a file may fill its block: redis' listpacks grow only when the whole block is full."""
    if finding.mark or not may_use_slop(frame.module):
        return finding
    return finding._replace(
        text=f"{finding.text}. But {_base(frame.module)} calls malloc_usable_size, so that it may use the whole block already",
        confidence="low",
        saving=finding.saving._replace(peak_bytes=None, untouched_bytes=0.0),
    )


def _wide_pointers(finding: Finding, frame: Frame, program: str) -> Finding:
    """The types of a shared library are mostly those of its interface, as the nodes of libxml2."""
    if not frame.module or frame.module == program:
        return finding
    return finding._replace(
        text=f"{finding.text}. {_base(frame.module)} is a library: its users may rely on the type", confidence="low"
    )


def _duplicates(finding: Finding, frame: Frame, program: str) -> Finding:
    """Long texts of C++ are most likely those of std::string, whose objects of 32 bytes shrink, too. They lie in other blocks, and those of short texts
    beside them: of guide pair 05, they returned 11.3 of 19.2 MiB."""
    saving = finding.saving
    if not saving.long_texts or not saving.peak_bytes or language_of(frame) != "C++":
        return finding
    return finding._replace(
        text=f"{finding.text}. Where std::string has them, its objects shrink from 32 bytes to a pointer, and return more",
        saving=saving._replace(exact=False, peak_at_least=True),
    )


def _base(path: str) -> str:
    return path.rpartition("/")[2]


_DOUBTS: Mapping[str, Doubt] = {"slop": _slop, "wide-pointers": _wide_pointers, "duplicates": _duplicates}


def has_doubts(lens: str) -> bool:
    return lens in _DOUBTS


def doubted(finding: Finding, frame: Frame, program: str) -> Finding:
    """`frame`: the one that names the site. `program`: the file of the process."""
    return _DOUBTS[finding.lens](finding, frame, program)
