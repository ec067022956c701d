"""The packed table of the shipped descriptions: `tare run` needs it at each start, and to make it takes 20 ms of CPU."""

from __future__ import annotations

import os


def table() -> bytes:
    """As tools/prepared_allocators.py wrote it."""
    with open(os.path.join(os.path.dirname(__file__), "prepared.bin"), "rb") as file:
        return file.read()
