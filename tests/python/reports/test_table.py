"""Tables: aligned, and never wider than the terminal."""

from __future__ import annotations

import pytest
from tare.reports.table import Column, table, table_of_values

COLUMNS = [
    Column("site", "left", keep=True),
    Column("bytes", keep=True),
    Column("blocks"),
    Column("name", "left", least=8),
]
ROWS = [["a", "1,024", "7", "a_function_with_a_long_name"], ["bcd", "8", "1,000", "f"]]


def test_columns_are_aligned() -> None:
    assert list(table(COLUMNS, ROWS, 80)) == [
        "site  bytes  blocks  name",
        "a     1,024       7  a_function_with_a_long_name",
        "bcd       8   1,000  f",
    ]


@pytest.mark.parametrize("width", [22, 24, 30, 40, 60])
def test_columns_are_cut_or_left_out(width: int) -> None:
    lines = list(table(COLUMNS, ROWS, width))
    assert all(len(line) <= width for line in lines)
    assert all("site" in lines[0] and part in lines[0] for part in ("bytes", "name"))
    assert ("blocks" in lines[0]) == (width >= 29)


def test_heads_of_two_lines() -> None:
    assert list(table([Column("heap\npeak"), Column("\nCPU")], [["1", "2"]], 40)) == ["heap", "peak  CPU", "   1    2"]


def test_no_head_and_no_rows() -> None:
    assert list(table([Column(), Column()], [["1", "2"]], 40)) == ["1  2"]
    assert list(table([Column("a")], [], 40)) == ["a"]


def test_answers_to_statements() -> None:
    assert table_of_values(["a"], [], cut=False) == ["a", "-", "(0 rows)"]
    assert table_of_values(["a", "b"], [("x", None)], cut=False) == ["a  b", "-  -", "x", "(1 row)"]
    assert len(table_of_values(["a"], [("y" * 500,)], cut=True)[2]) == 60
