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
_LONGEST_LINE = 1 << 20
# Formats that are one message or object are read as a whole.
MOST_WHOLE_BYTES = 1 << 30


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
        self._packing = (
            "zstd"
            if magic == b"\x28\xb5\x2f\xfd"
            else "gzip"
            if magic[:2] == b"\x1f\x8b"
            else "lz4"
            if magic == lz4.MAGIC
            else ""
        )

    def pieces(self) -> Iterator[bytes]:
        """The bytes from the start, at most a few MiB at a time."""
        if self._packing == "zstd":
            yield from self._zstd()
        elif self._packing == "gzip":
            yield from self._gzip()
        elif self._packing == "lz4":
            yield from self._lz4()
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
            while packed := file.read(_PIECE):
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
        for piece in self.pieces():
            size += len(piece)
            if size > MOST_WHOLE_BYTES:
                raise Damaged("it unpacks to more than 1 GiB")
            pieces.append(piece)
        return b"".join(pieces)
