"""The message that Spark or Java is missing, and the translation of types. These tests need neither."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fleet_made import add, facts
from tare import cli
from tare.fleet import spark_session
from tare.fleet.spark import ddl
from tare.fleet.store import COLUMNS


@pytest.fixture
def store(tmp_path: Path) -> Path:
    add(tmp_path / "s", "a", facts({1: 10.0}))
    return tmp_path / "s"


def test_a_missing_package_is_named(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for verb in (["report"], ["sql"], ["diff", "--before", "build=1", "--after", "build=2"]):
        statement = ["select 1"] if verb == ["sql"] else []
        expected = "no recording fits --after" if verb[0] == "diff" else "missing package pyspark: pip install"
        assert cli.main(["fleet", verb[0], str(store), *statement, *verb[1:], "--engine", "spark"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("tare: fleet") and expected in captured.err
        assert captured.err.count("\n") == 1


def test_a_master_needs_the_engine(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fleet", "report", str(store), "--spark-master", "local"]) == 2
    assert capsys.readouterr().err == "tare: fleet: --spark-master goes with --engine spark\n"


def test_a_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "find_spec", lambda name: name)  # as if pyspark were installed
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert spark_session.missing() == "missing Java: install Java 17 or later and set JAVA_HOME"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"missing Java in JAVA_HOME={tmp_path}:" in spark_session.missing()
    java = tmp_path / "bin/java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    assert spark_session.missing() == ""
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert spark_session.missing() == ""


def test_types_are_translated() -> None:
    assert (
        ddl("a bigint, b varchar, c varchar[], d map(varchar, varchar)")
        == "a bigint, b string, c array<string>, d map<string,string>"
    )
    assert "varchar" not in ddl(COLUMNS)
