"""SQLite says the same as DuckDB wherever lenses ask."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import Handmade
from tare import lenses, schema
from tare.reports import run_summary
from tare.source.database import Database, TableStore
from tare.source.small_database import SmallDatabase
from tare.text.terminal import Style

SIZES = ("requested_bytes", "usable_bytes", "class_below_bytes", "clownshoe", "class")


def _both(made: Handmade) -> list[TableStore]:
    stores: list[TableStore] = [Database(made), SmallDatabase(made)]
    for store in stores:
        store.use("size_classes")
    return stores


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("max_by(class, usable_bytes)", "b"),
        ("max_by(class, clownshoe)", "a"),  # of equals the first
        ("max_by(class, case when usable_bytes < 10 then 1 end)", None),
        ("sum(greatest(requested_bytes, 30, clownshoe))", 30 + 100),
        ("sum(least(requested_bytes, 30))", 24 + 30),
        ("max(log2(2.0 + requested_bytes - 40))", 5.954196310386875),
        ("count(distinct clownshoe)", 1),
        ("sum(clownshoe) / 4", 0.5),
        ("sum(clownshoe) / 4 / sum(clownshoe)", 0.25),
        ("max('greatest(1/2)')", "greatest(1/2)"),
    ],
)
def test_functions_of_the_shared_subset(made: Handmade, sql: str, expected: Any) -> None:
    made.size_class(24, 24, 0, "a", clownshoe=1)
    made.size_class(100, 104, 88, "b", clownshoe=1)
    where = "where requested_bytes > 40" if "log2" in sql else ""
    for store in _both(made):
        assert store.row(f"select {sql} from size_classes {where}") == (expected,), type(store).__name__


def test_columns_are_replaced_in_their_places(made: Handmade) -> None:
    made.size_class(24, 40, 0)
    for store in _both(made):
        columns = store.replaced("c", "select * from size_classes", {"usable_bytes": "c.usable_bytes - 1"})
        names, rows = store.answer(f"select {columns} from (select * from size_classes) c")
        assert tuple(names) == SIZES
        assert rows == [(24, 39, 0, 0, "small")]


def test_tables_load_once_and_can_be_forgotten(made: Handmade) -> None:
    for store in _both(made):
        assert store.row("select count(*) from size_classes") == (0,)
        made.size_class(24, 24, 0)
        store.use("size_classes")
        assert store.row("select count(*) from size_classes") == (0,)
        store.forget("size_classes")
        store.use("size_classes")
        assert store.row("select count(*) from size_classes") == (1,)
        made.tables["size_classes"].clear()


def test_keys_are_columns_that_there_are() -> None:
    from tare.source import small_database

    for table, key in small_database._KEYS.items():
        assert schema.BY_NAME[table].columns[0].name == key


def test_a_lens_beyond_sqlite_is_asked_of_duckdb(busy: Handmade, monkeypatch: pytest.MonkeyPatch) -> None:
    churn = lenses.load("churn")
    claims = churn.claims.replace("and total_blocks > 0", "and list_contains([1], 1) and total_blocks > 0")
    assert claims != churn.claims
    load = lenses.load
    images = [run_summary.Image("made.tare", "app", 1, 1000, 1)]
    plain = run_summary.lines(busy, images, Style(_NoTerminal()), 100)
    monkeypatch.setattr(lenses, "load", lambda name: churn._replace(claims=claims) if name == "churn" else load(name))
    assert run_summary.lines(busy, images, Style(_NoTerminal()), 100) == plain


class _NoTerminal:
    def isatty(self) -> bool:
        return False
