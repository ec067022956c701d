"""Tare records a program's heap, and reports how much of it is waste and which source lines cause it."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """`__version__` is that of the extension module: include/tare/version.h states it."""
    if name == "__version__":
        from tare import _core

        return _core.VERSION
    raise AttributeError(f"module 'tare' has no attribute '{name}'")
