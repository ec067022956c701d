"""Text that a terminal shows and doesn't obey: names of symbols, files and programs are any bytes, escape sequences among them.

Every verb prints through these streams (cli.main). Tare's own codes for the terminal, colours and the clearing of a line, are
lone surrogates, which no text decodes to; they become escape sequences here.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Controls (C0, DEL, C1), characters that change the direction of text or break a line, invisible tags, and bytes that
# weren't UTF-8.
_UNPRINTABLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_IN_TEXT = re.compile(f"[{_UNPRINTABLE}\ud800-\udfff]")
_IN_LINE = re.compile(f"[{_UNPRINTABLE}\t\n\ud900-\udfff]")
_IN_JSON = re.compile(f"[{_UNPRINTABLE}\ud800-\udfff]")

_LOOKS = 0xD800  # + the number of an SGR sequence, below 100
_CLEAR_LINE = "\ud8ff"


def look(code: int) -> str:
    """Sequences that change the terminal's state when printed."""
    return chr(_LOOKS + code)


CLEAR_LINE = _CLEAR_LINE


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    if 0xDC80 <= number <= 0xDCFF:  # a byte, as Python decodes what isn't UTF-8
        return f"\\x{number - 0xDC00:02x}"
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _escape_or_obey(match: re.Match[str]) -> str:
    number = ord(match[0])
    if _LOOKS <= number < _LOOKS + 100:
        return f"\x1b[{number - _LOOKS}m"
    return "\r\x1b[K" if match[0] == _CLEAR_LINE else _escape(match)


def printable(text: str) -> str:
    """One line: unprintable characters as visible escapes. Looks stay."""
    return _IN_LINE.sub(_escape, text)


def printable_json(text: str) -> str:
    """JSON with terminal controls written as JSON's own escapes."""

    def escape(match: re.Match[str]) -> str:
        number = ord(match[0])
        if number <= 0xFFFF:
            return f"\\u{number:04x}"
        return f"\\u{0xD800 + (number - 0x10000 >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"

    return _IN_JSON.sub(escape, text)


def say(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Prints lines. A name with a line break in it stays in its line."""
    for line in lines:
        print(printable(line), file=file)


# Characters of Tare's reports in encodings without them: as many columns of ASCII.
_ASCII = str.maketrans("▁▂▃▄▅▆▇█·…─━│├└→’≥", "_.,-~=+#.~--|||>'>")


def _ascii_for(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def _accept_every_character(stream: TextIO) -> None:
    """An encoding such as ASCII has no box characters: POSIX locales without Python's UTF-8 mode, and PYTHONIOENCODING."""
    encoding = (stream.encoding or "").lower().replace("-", "")
    if encoding != "utf8" and isinstance(stream, io.TextIOWrapper):
        codecs.register_error("tare-ascii", _ascii_for)
        stream.reconfigure(errors="tare-ascii")


class PrintableStream:
    """A text stream that escapes text which a terminal would obey. Its buffer takes bytes as they are."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        _accept_every_character(stream)

    def write(self, text: str) -> int:
        with _named(self._stream):
            self._stream.write(_IN_TEXT.sub(_escape_or_obey, text))
        return len(text)

    def flush(self) -> None:
        with _named(self._stream):
            self._stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _named(stream: TextIO) -> Iterator[None]:
    """An error such as a full disk names its stream."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(stream.name).strip("<>")
        raise


@contextmanager
def printable_streams() -> Iterator[None]:
    """Both standard streams, until the end of the verb."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, PrintableStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
