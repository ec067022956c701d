"""SQL: tables load when named, answers are aligned, mistakes are one line."""

from __future__ import annotations

import json

import pytest
from handmade import Handmade
from tare import schema
from tare.commands import sql
from tare.errors import TareError


def test_rows_are_aligned_and_whole_numbers_whole(busy: Handmade, capsys: pytest.CaptureFixture[str]) -> None:
    recording = busy.recording()
    recording.database.use("site_sizes")
    sql.answer(recording.database, "select api, sum(total_blocks) as n from site_sizes group by api", False)
    assert capsys.readouterr().out.splitlines() == ["api         n", "------  -----", "malloc  71500", "(1 row)"]
    sql.answer(recording.database, "select 1 as a, null as b, 1.5 as c", True)
    assert json.loads(capsys.readouterr().out) == [{"a": 1, "b": None, "c": 1.5}]


def test_costly_tables_are_loaded_only_when_named(busy: Handmade, capsys: pytest.CaptureFixture[str]) -> None:
    loaded: list[str] = []
    original = busy.load

    def load(table: schema.Table, into: object) -> None:
        loaded.append(table.name)
        original(table, into)  # type: ignore[arg-type]

    busy.load = load  # type: ignore[method-assign]
    database = busy.recording().database
    sql.answer(database, "select 1", False)
    assert loaded == []
    sql.answer(database, "select count(*) from BLOCKS", False)
    assert loaded == ["blocks"]


def test_mistakes_are_one_line(busy: Handmade) -> None:
    with pytest.raises(TareError) as caught:
        sql.answer(busy.recording().database, "select nonsense from nowhere", False)
    assert "\n" not in caught.value.message and "tare schema" in caught.value.message


def test_statements_end_at_semicolons_outside_quotes(busy: Handmade, capsys: pytest.CaptureFixture[str]) -> None:
    sql.answer(busy.recording().database, "select 1 as a; select\n 2 as b;\n\nselect ';' as c -- ;", False)
    lines = [line for line in capsys.readouterr().out.splitlines() if "-" not in line and "row" not in line]
    assert lines == ["a", "1", "b", "2", "c", ";"]


def test_no_rows_and_nulls() -> None:
    assert sql.table_lines(["a"], [], False) == ["a", "-", "(0 rows)"]
    assert sql.table_lines(["a", "b"], [("x", None)], False) == ["a  b", "-  -", "x", "(1 row)"]
    assert len(sql.table_lines(["a"], [("y" * 500,)], True)[2]) == 60
