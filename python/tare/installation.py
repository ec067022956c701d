"""Files that are installed beside the extension module: the recorder and the helpers."""

from __future__ import annotations

import os

from tare.errors import INTERNAL, TareError


def recorder_library() -> str:
    return beside_core("libtare-record.so")


def beside_core(name: str) -> str:
    """A file of the package's own, installed beside its extension module."""
    from tare import _core

    path = os.path.join(os.path.dirname(os.path.abspath(_core.__file__)), name)
    if not os.path.exists(path):
        raise TareError(INTERNAL, f"{path} is missing: install Tare again")
    return path
