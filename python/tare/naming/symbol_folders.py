"""Folders in which this process looks for debug files and programs: TARE_SYMBOLS, which the core reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_VARIABLE = "TARE_SYMBOLS"


def search_too(folders: Iterable[str]) -> None:
    """After those that the user has named."""
    known = os.environ.get(_VARIABLE, "")
    os.environ[_VARIABLE] = ":".join([*([known] if known else []), *folders])
