"""A file of another profiler, unpacked as it is read: lines and bytes of a limited length."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from tare.errors import CORRUPT, IO, USAGE, TareError
from tare.imports import lz4

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 20
_PACKED_PIECE = 1 << 16  # of gzip: each of many small members copies the rest of one
_LONGEST_LINE = 1 << 20
# Formats that are one message or object are read as a whole. Objects of Python take up to 60 times the text's size: unpacked,
# a file may have this size and that many times its packed one.
_MOST_WHOLE_BYTES, _WHOLE_FACTOR = 8 << 20, 16
_MOST_ENTRIES = 1 << 20
_TRUST = "TARE_TRUST_FILES"
TOO_MANY = f"it has more blocks, stacks or names than its size justifies; set {_TRUST}=1 to read it nevertheless"


# Exceptions of reading foreign bytes; TypeError is the core's rejection of a number with more than 64 bits.
NONSENSE = (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError)


class Damaged(Exception):
    """The error in the file, and its place: `line 17: ...`."""


class SourceFile:
    """`cut_off`: the file ended before its compressed stream did, as after a crash of the program."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.cut_off = False
        try:
            with open(path, "rb") as file:
                if not os.path.isfile(path):
                    raise TareError(USAGE, f"import: {path} is no regular file; give a file")
                magic = file.read(4)
        except OSError as error:
            raise TareError(IO, f"import: can't read {path}: {error.strerror}") from None
        self._trusted = os.environ.get(_TRUST) == "1"
        self._size = os.path.getsize(path)
        self._packing = (
            "zstd"
            if magic == b"\x28\xb5\x2f\xfd"
            else "gzip"
            if magic[:2] == b"\x1f\x8b"
            else "lz4"
            if magic == lz4.MAGIC
            else ""
        )

    @property
    def most_entries(self) -> int:
        """Of things that a reader keeps in memory, 500 bytes each: a packed file may repeat a few bytes without end."""
        return 1 << 62 if self._trusted else _MOST_ENTRIES + self._size

    def pieces(self) -> Iterator[bytes]:
        """The bytes from the start, at most a few MiB at a time, and not much less than 1 MiB."""
        if self._packing:
            yield from _joined(getattr(self, f"_{self._packing}")())
        else:
            with open(self.path, "rb") as file:
                while piece := file.read(_PIECE):
                    yield piece

    def _zstd(self) -> Iterator[bytes]:
        from tare import _core

        file = _core.open_zstd(self.path)
        while True:
            try:
                piece = file.read()
            except TareError as error:
                if error.kind != CORRUPT:
                    raise
                if "cut off" not in error.message:
                    raise Damaged(error.message.partition("damaged: ")[2]) from None
                self.cut_off = True
                return
            if not piece:
                return
            yield piece

    def _lz4(self) -> Iterator[bytes]:
        with open(self.path, "rb") as file:
            try:
                yield from lz4.blocks(file)
            except EOFError:
                self.cut_off = True
            except NONSENSE as error:
                raise Damaged(f"lz4: {error}") from None

    def _gzip(self) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(wbits=31)
        inside = False
        with open(self.path, "rb") as file:
            while packed := file.read(_PACKED_PIECE):
                while packed:
                    try:
                        piece = unpacker.decompress(packed, _PIECE)
                    except zlib.error as error:
                        raise Damaged(f"gzip: {error}") from None
                    if piece:
                        yield piece
                    packed = unpacker.unconsumed_tail
                    inside = not unpacker.eof
                    if unpacker.eof:
                        packed = unpacker.unused_data
                        unpacker = zlib.decompressobj(wbits=31)
            self.cut_off = inside

    def head(self) -> bytes:
        """Enough of the start to recognize a format."""
        try:
            return next(self.pieces(), b"")[:4096]
        except Damaged:
            return b""

    def lines(self) -> Iterator[bytes]:
        """Without their line ends."""
        rest = b""
        for piece in self.pieces():
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            if len(rest) > _LONGEST_LINE:
                raise Damaged("a line has more than 1 MiB")
            yield from lines
        # The last line of a file that was cut off may have lost its end.
        if rest and not self.cut_off:
            yield rest

    def whole(self) -> bytes:
        pieces, size = [], 0
        most = max(self._size, _MOST_WHOLE_BYTES + _WHOLE_FACTOR * self._size)
        for piece in self.pieces():
            size += len(piece)
            if size > most and not self._trusted:
                raise Damaged(f"it unpacks to more than {most >> 20:,} MiB; set {_TRUST}=1 to read it nevertheless")
            pieces.append(piece)
        return b"".join(pieces)


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """A packed file may have a block for each byte."""
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
