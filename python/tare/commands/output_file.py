"""Files that verbs write, and pages for the browser: a file appears under its name when all of it is written."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from tare.errors import IO as IO_ERROR
from tare.errors import USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator


@contextmanager
def replacement(path: str) -> Iterator[str]:
    """The name of a file to write, which takes the place of `path` at the end: a file of that name stays as it was unless all of the
    new one is written. Of a link, the file that it leads to is replaced.
    """
    target = os.path.realpath(path)
    part = f"{target}.part-{os.getpid()}"
    try:
        yield part
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.unlink(part)


@contextmanager
def whole_file(path: str, verb: str) -> Iterator[IO[bytes]]:
    """As replacement(), opened. Devices and pipes are written into: root's `-o /dev/null` must not replace the device by a file."""
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "wb") as out:
                yield out
            return
        with replacement(path) as part, open(part, "wb") as out:
            yield out
    except OSError as error:
        raise TareError(IO_ERROR, f"{verb}: can't write {path}: {error.strerror}") from None


def write_page(options: argparse.Namespace, default: str, verb: str, write: Callable[[IO[bytes]], None]) -> None:
    """In the form of -o and --open."""
    if options.output == "-":
        if options.open:
            raise TareError(USAGE, f"{verb}: --open needs a file: give another name by -o")
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    path = options.output or default
    with whole_file(path, verb) as out:
        write(out)
    say([f"tare: wrote {path}"], sys.stderr)
    if options.open:
        _show(path, verb)


def _show(path: str, verb: str) -> None:
    import webbrowser

    if not webbrowser.open(f"file://{os.path.abspath(path)}"):
        raise TareError(IO_ERROR, f"{verb}: no browser found; open {path} in one, or set $BROWSER")
