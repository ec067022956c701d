"""Lines of Python code by instruction: CPython's tables of locations, as memray stores them with each code object."""

from __future__ import annotations

_PYTHON_3_11, _PYTHON_3_10 = 0x030B0000, 0x030A0000
_NONE, _LONG, _NO_COLUMNS = 15, 14, 13


def line_of(table: bytes, first_line: int, instruction: int, python_version: int) -> int:
    """0: unknown. IndexError: the table is cut off. CPython's Objects/locations.md and lnotab_notes.txt describe the tables."""
    if not table:
        return first_line
    if instruction < 0:
        return 0
    if python_version >= _PYTHON_3_11:
        return _line_311(table, first_line, instruction // 2)
    return _line_old(table, first_line, instruction, python_version >= _PYTHON_3_10)


def _line_311(table: bytes, line: int, wanted: int) -> int:
    at = unit = 0
    while at < len(table):
        head = table[at]
        at += 1
        code = head >> 3 & 15
        if code in (_LONG, _NO_COLUMNS):
            value, at = _varint(table, at)
            line += -(value >> 1) if value & 1 else value >> 1
            if code == _LONG:
                for _ in range(3):
                    _, at = _varint(table, at)
        elif code >= 10 and code != _NONE:
            line += code - 10
            at += 2
        elif code < 10:
            at += 1
        unit += (head & 7) + 1
        if wanted < unit:
            return 0 if code == _NONE else line
    return 0


def _varint(table: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = table[at]
        at += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64 or shift > 60:
            return value, at


def _line_old(table: bytes, line: int, instruction: int, is_310: bool) -> int:
    at_instruction = 0
    wanted = instruction * 2 if is_310 else instruction
    for at in range(0, len(table) - 1, 2):
        step = table[at + 1] - 256 if table[at + 1] >= 128 else table[at + 1]
        at_instruction += table[at]
        if is_310:
            line += 0 if step == -128 else step
        if at_instruction > wanted:
            return line
        if not is_310:
            line += step
    return line
