"""The terminal's abilities: width, colour, and a progress line that appears only during a long wait."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from tare.progress import Display
from tare.text import printable

if TYPE_CHECKING:
    from threading import Timer
    from typing import TextIO

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
_LEAST_WIDTH = 40  # every report fits
_PIPE_WIDTH = 120  # no terminal: wide enough for a stack line, still readable in a mail


def width_of(stream: TextIO) -> int:
    """Columns of the terminal behind `stream`; COLUMNS wins, a pipe gets 120."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return max(int(columns), _LEAST_WIDTH)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns, _LEAST_WIDTH)
    except (OSError, ValueError):
        return _PIPE_WIDTH


class Style:
    """Paints text where the stream is a terminal and NO_COLOR isn't set; elsewhere gives it back as it is. For the streams of printable.py."""

    def __init__(self, stream: TextIO) -> None:
        self.enabled = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def __call__(self, text: str, look: str) -> str:
        return f"{printable.look(_CODES[look])}{text}{printable.look(0)}" if self.enabled else text


def shorten(text: str, width: int) -> str:
    """Cut in the middle: both ends of a C++ name are informative."""
    text = printable.printable(text)
    if len(text) <= width:
        return text
    if width < 5:
        return text[: max(width, 0)]
    tail = (width - 1) * 2 // 5
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def shorten_path(path: str, width: int) -> str:
    """Cut from the left, at a folder if one fits: the end of a path is the informative part."""
    path = printable.printable(path)
    if len(path) <= width:
        return path
    tail = path[len(path) - width + 1 :]
    at = tail.find("/")
    return "…" + (tail[at:] if at >= 0 else tail)


class TerminalDisplay(Display):
    """Progress as one line on stderr, only on a terminal and only after a second; it is erased at the end. A task that reports nothing, as one
    long statement of SQL, is shown without a share.
    """

    def __init__(self) -> None:
        self._start = self._next_draw = 0.0
        self._drawn = False
        self._waiting: Timer | None = None  # draws the task's name if nothing else does

    def update(self, task: str, started: bool, share: float, detail: str) -> None:
        now = time.monotonic()
        if started:
            self._start, self._next_draw = now, now + 1.0
            self._wait_for(task)
        if now < self._next_draw or not sys.stderr.isatty():
            return
        self._next_draw = now + 0.1
        if share < 0:
            line = f"tare: {task} … {detail}"
        else:
            cells = 24
            full = round(min(share, 1.0) * cells)
            elapsed = now - self._start
            left = f", {elapsed / share - elapsed:.0f} s left" if share > 0.02 else ""
            line = f"tare: {task} [{'█' * full}{'·' * (cells - full)}] {100 * min(share, 1.0):3.0f}%{left} {detail}"
        self._stop_waiting()
        self._draw(line)

    def _wait_for(self, task: str) -> None:
        self._stop_waiting()
        if not sys.stderr.isatty():
            return
        from threading import Timer

        def draw() -> None:
            if self._waiting is timer:
                self._draw(f"tare: {task} …")

        timer = self._waiting = Timer(1.0, draw)
        timer.daemon = True
        timer.start()

    def _stop_waiting(self) -> None:
        """Nothing is drawn by the timer afterwards."""
        timer, self._waiting = self._waiting, None
        if timer is not None:
            timer.cancel()
            timer.join()

    def _draw(self, line: str) -> None:
        sys.stderr.write(printable.CLEAR_LINE + shorten(line, width_of(sys.stderr) - 1))
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        self._stop_waiting()
        if self._drawn:
            sys.stderr.write(printable.CLEAR_LINE)
            sys.stderr.flush()
            self._drawn = False

    def warn(self, message: str) -> None:
        printable.say([f"tare: {message}"], sys.stderr)
