"""SQL: tables load when named, answers are aligned, mistakes are one line."""

from __future__ import annotations

import json

import pytest
from handmade import Handmade
from tare import schema
from tare.cli import build_parser
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


@pytest.mark.parametrize("text", [".tables", "help", ".help", ".schema", ".schema site_sizes growth", " .tables ; "])
def test_dot_commands_print_lines_without_a_recording(text: str) -> None:
    assert list(sql.meta_command(text) or [])


def test_dot_commands_name_every_table_and_column() -> None:
    assert [line.split()[0] for line in sql.meta_command(".tables") or ()] == [table.name for table in schema.TABLES]
    text = "\n".join(sql.meta_command(".schema site_sizes") or ())
    assert all(column.name in text for column in schema.BY_NAME["site_sizes"].columns)


def test_sql_is_no_dot_command() -> None:
    assert sql.meta_command("select 1") is None
    assert sql.meta_command("") is None


@pytest.mark.parametrize(("wrong", "meant"), [(".tabels", ".tables"), (".schema site_sises", "site_sizes")])
def test_a_wrong_dot_command_gets_a_suggestion(wrong: str, meant: str) -> None:
    with pytest.raises(TareError) as caught:
        list(sql.meta_command(wrong) or ())
    assert meant in caught.value.message


@pytest.mark.parametrize(
    "words", [["a.tare", "--json", "select 1"], ["--json", "a.tare", "select 1"], ["a.tare", "select 1", "--json"]]
)
def test_options_may_stand_between_file_and_statement(words: list[str]) -> None:
    options = build_parser("sql", sql).parse_args(words)
    assert (options.file, options.statement, options.json) == ("a.tare", "select 1", True)


@pytest.mark.parametrize("command", [".tables", "help"])
def test_help_and_tables_need_no_file(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sql.run(build_parser("sql", sql).parse_args([command])) == 0
    assert ("site_sizes" if command == ".tables" else ".schema") in capsys.readouterr().out
