"""A folder for a command's private files: deleted when the command ends, also by a signal."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# Those that end a process politely; Ctrl-C is an exception already.
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):
    """Not an Exception, so that no caller handles it as a failure."""


@contextmanager
def scratch_folder(prefix: str) -> Iterator[str]:
    """Only in the main thread. A signal that ends the command still ends it so, once the folder is gone."""
    came: list[int] = []
    removing = False

    def end(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        if len(came) == 1 and not removing:
            raise _Ended

    before = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:  # what nohup ignores stays ignored
            signal.signal(number, end)
    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix=prefix)
        yield folder
    except _Ended:
        pass
    finally:
        removing = True
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            os.kill(os.getpid(), came[0])
