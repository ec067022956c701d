"""Rules for every lens: it has all texts, names real tables, and returns claims in the common form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from handmade import Handmade
from tare import lenses, schema
from tare.analysis.recording import Recording
from tare.errors import TareError
from tare.source.database import Database
from tare.source.small_database import SmallDatabase

FIXED = ["size_id", "stack_id", "blocks", "bytes_peak", "bytes_end", "bytes_total", "byte_ns", "calls"]
NO_CLAIM = "{} finds nothing: add rows that it claims to the fixture looked_into in tests/python/conftest.py"


@pytest.mark.parametrize("name", lenses.NAMES)
def test_words_and_claims(name: str, looked_into: Handmade) -> None:
    lens = lenses.load(name)
    assert lens.name == name
    for words in (lens.question, lens.why, lens.threshold, lens.false_positives, lens.remedy):
        assert len(words) > 30, f"a text of {name} has less than a sentence: {words!r}"
    assert lens.question.endswith("?")
    if lens.guide:
        pair = Path(__file__).parents[3] / "guide" / lens.guide
        assert (pair / "before.cc").exists() and (pair / "after.cc").exists()
    assert set(lens.tables) <= set(schema.BY_NAME)
    database = looked_into.recording().database
    database.use(*lens.tables)
    names, rows = database.answer(lens.claims)
    assert names[: len(FIXED)] == FIXED, "lens.py documents the columns that a query returns first"
    assert rows, NO_CLAIM.format(name)
    if lens.weight == "tare":
        shapes = [row[0] for row in rows]
        assert len(shapes) == len(set(shapes)), "a tare lens claims each shape at most once"


@pytest.mark.parametrize("name", lenses.NAMES)
def test_both_engines_find_the_same(name: str, looked_into: Handmade) -> None:
    ledgers = [Recording(looked_into.with_contents(), engine=engine).ledger for engine in (Database, SmallDatabase)]
    for by in ("site_id", "site_location_id"):
        in_duckdb, in_sqlite = (ledger.findings(lenses.load(name), by=by, all_claims="all") for ledger in ledgers)
        assert in_duckdb, NO_CLAIM.format(name)
        assert in_sqlite == in_duckdb
    in_duckdb, in_sqlite = ((each.tare_bytes(), each.lens_totals(), each.totals) for each in ledgers)
    assert in_sqlite == in_duckdb


@pytest.mark.parametrize("name", lenses.NAMES)
def test_sql_stays_in_the_subset_that_spark_shares(name: str) -> None:
    lens = lenses.load(name)
    text = " ".join([lens.claims, lens.shown, lens.order, *lens.evidence.values()])
    for only_duckdb in ("::", "//", "filter (", "qualify", "exclude", "list_", "unnest"):
        assert only_duckdb not in text.lower()
    assert not re.search(r"\bfrom\s+\w+\s*\(", text), "no table functions"


def test_an_unknown_lens_is_said_with_the_known_ones() -> None:
    with pytest.raises(TareError, match=r"leeks.*leaks"):
        lenses.load("leeks")
