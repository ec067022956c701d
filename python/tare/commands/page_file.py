"""Where a page goes: a file, standard output, the browser."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING

from tare.commands.whole_file import whole_file
from tare.errors import IO as IO_ERROR
from tare.errors import USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def write_page(options: argparse.Namespace, default: str, verb: str, write: Callable[[IO[bytes]], None]) -> None:
    """As -o and --open want it."""
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
