"""Ctrl-C: remembered, because Python drops the exception that it raises in a weak reference's callback or in a finalizer."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_came = False


def remember() -> None:
    """From now on SIGINT is remembered, and raises KeyboardInterrupt as before. Not where it is ignored, as under nohup."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def came() -> bool:
    return _came


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    global _came
    _came = True
    raise KeyboardInterrupt
