"""Writes python/tare/allocators/prepared.bin from the descriptions beside it; `tests/python` compares both.

PYTHONPATH=python python3 tools/prepared_allocators.py
"""

from pathlib import Path

from tare.allocators import table

PREPARED = Path(__file__).parent.parent / "python/tare/allocators/prepared.bin"

if __name__ == "__main__":
    PREPARED.write_bytes(table.packed(table.shipped()))
