"""Lines from CPython's own tables equal those that CPython computes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import CodeType

import pytest
from tare.imports.line_table import line_of


def codes(code: CodeType) -> list[CodeType]:
    return [code, *(each for constant in code.co_consts if isinstance(constant, CodeType) for each in codes(constant))]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the table has another form")
def test_every_line_of_a_large_module() -> None:
    path = Path(ast.__file__)
    checked = 0
    for code in codes(compile(path.read_text(), str(path), "exec")):
        for start, end, line in code.co_lines():
            for instruction in range(start, end, 2):
                found = line_of(code.co_linetable, code.co_firstlineno, instruction, sys.hexversion)
                assert found == (line or 0), (code.co_name, instruction)
                checked += 1
    assert checked > 10_000
