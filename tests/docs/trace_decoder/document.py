"""Tables of src/trace/file/FORMAT.md: they aren't repeated here."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

TEXT = Path(__file__).resolve().parents[3] / "src/trace/file/FORMAT.md"


@cache
def entry_points() -> dict[str, dict[int, str]]:
    """Names by code: of allocations, frees and mappings."""
    table = re.search(r"^\| entry points \|.*\n\|.*\n((?:\|.*\n)+)", TEXT.read_text(), re.MULTILINE)
    assert table
    rows = [row.strip("| ").split(" | ") for row in table[1].splitlines()]
    return {
        family: {int(code): name for code, name in (entry.split(" ", 1) for entry in entries.split("; "))}
        for family, entries in rows
    }


def example() -> bytes:
    """The worked example's bytes."""
    lines = re.findall(r"^    ([0-9a-f]{4})  ((?:[0-9a-f]{2} ){1,16})", TEXT.read_text(), re.MULTILINE)
    data = b""
    for offset, bytes_of_line in lines:
        assert int(offset, 16) == len(data)
        data += bytes.fromhex(bytes_of_line)
    return data
