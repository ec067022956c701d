"""Spark and DuckDB answer alike: each figure of reports, on stores with gaps, merged files and odd names.

Those that start Spark are nightly: pyspark has 434 MB.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fleet_made import add, facts
from tare import cli
from tare.errors import TareError
from tare.fleet import upkeep
from tare.fleet.spark import SparkStore, ddl
from tare.fleet.store import COLUMNS, Store, condition
from tare.reports import fleet_report

needs_spark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None or not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="pyspark or Java isn't installed",
    ),
]


def marked(test: Any) -> Any:
    for mark in needs_spark:
        test = mark(test)
    return test


LENSES = ["leaks", "slop", "headers", "churn"]


def fill(store: Path, recordings: int, program: str) -> None:
    """Three builds; sites that come and go; lenses that don't always run; a third of the store merged."""
    generator = random.Random(program)
    for number in range(recordings):
        sites = {site: generator.lognormvariate(8, 2) for site in range(1, 20) if generator.random() < 0.8}
        ran = LENSES if number % 5 else LENSES[:2]
        made = facts(sites, lenses=ran, program=program, started_ns=number)
        made.rows["claims"][:] = [
            (lens, site, size / 7, size / 9, size * 3, 2.0, size > 9000) for lens in ran for site, size in sites.items()
        ]
        add(store, f"{program}-{number}", made, f"b{number * 3 // recordings}", f"m{number % 7}", canary="it's")
        if number == recordings // 3:
            upkeep.compact(store)


def alike(a: Any, b: Any, path: str = "") -> None:
    """Integers and texts equal, doubles within 1e-9."""
    assert type(a) is type(b), path
    if isinstance(a, dict):
        assert a.keys() == b.keys(), path
        for key in a:
            alike(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), path
        for number, pair in enumerate(zip(a, b, strict=True)):
            alike(*pair, f"{path}[{number}]")
    else:
        assert a == (pytest.approx(b, rel=1e-9) if isinstance(a, float) else b), path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "s"
    fill(folder, 120, "app")
    fill(folder, 40, "it's \\ odd")
    return folder


# Real programs whose heaps depend on a number.
PROGRAMS: dict[str, list[str]] = {
    "bash": ["bash", "-c", "for i in $(seq {}); do v[i]=text$i; done"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(x); with recursive c(x) as (select 1 union all select x+1 from c where x < {}) insert into t select x from c;"],
    "git": ["git", "log", "--oneline", "-{}"],
    "awk": ["awk", "BEGIN {{ for (i = 0; i < {}; i++) a[i] = i }}"],
}  # fmt: skip
EACH = 10  # P50 needs 6 recordings


@pytest.fixture(scope="module")
def real_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of real programs, of two builds on five machines."""
    folder = tmp_path_factory.mktemp("real")
    for name, command in PROGRAMS.items():
        for number in range(EACH):
            trace = folder / f"{name}-{number}.tare"
            program = [part.format(40 * number + 10) for part in command]
            subprocess.run(
                [sys.executable, "-m", "tare", "run", "-q", "-o", trace, "--", *program], check=True, stdout=subprocess.DEVNULL, cwd=Path(__file__).parent
            )  # fmt: skip
            origin = ["--build", str(number % 2), "--machine", f"m{number // 2}"]
            assert cli.main(["fleet", "add", str(folder / "s"), str(trace), *origin]) == 0
    return folder / "s"


@marked
def test_real_recordings_have_equal_figures(real_store: Path) -> None:
    one, other = Store(real_store), SparkStore(real_store, (), "local[2]")
    made = fleet_report.as_json(one)
    assert sorted(each["program"] for each in made["programs"]) == ["bash", "git", "mawk", "sqlite3"]
    alike(fleet_report.as_json(other), made)
    for table, order in (
        ("recordings", "recording"),
        ("site_sums", "site, recording"),
        ("claims", "lens, site, recording"),
    ):
        sql = f"select * from {table} order by {order}"
        rows = one.rows(sql)
        assert len(rows) >= EACH * len(PROGRAMS)
        alike(other.rows(sql), rows)


@marked
def test_reports_are_equal(store: Path) -> None:
    one, other = Store(store), SparkStore(store, (), "local[2]")
    alike(fleet_report.as_json(other), fleet_report.as_json(one))
    where = [condition("program=it*"), condition("canary=it's")]
    alike(fleet_report.as_json(SparkStore(store, where, "local[2]")), fleet_report.as_json(Store(store, where)))


@marked
@pytest.mark.parametrize(
    "sql",
    [
        "select * from recordings order by recording",
        "select * from site_sums order by recording, site",
        "select * from claims order by recording, lens, site",
        "select * from sites order by build_id, site",
        "select lens, count(*), sum(peak_bytes), avg(end_bytes), max(total_bytes), min(calls) from claims group by lens order by lens",
        "select lens, percentile_cont(0.5) within group (order by peak_bytes), percentile_cont(0.99) within group (order by peak_bytes)"
        " from claims group by lens order by lens",
        "select key, labels['canary'] as canary from recordings order by key",
    ],
)
def test_statements_have_the_same_rows(store: Path, sql: str) -> None:
    alike(SparkStore(store, (), "local[2]").rows(sql), [tuple(row) for row in Store(store).rows(sql)])


@marked
def test_the_verbs_answer(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for engine in (["--engine", "spark", "--spark-master", "local[2]"], []):
        assert cli.main(["fleet", "report", str(store), *engine]) == 0
    spark, rest = capsys.readouterr().out.split("160 recordings", 2)[1:]
    assert spark == rest
    assert cli.main(["fleet", "sql", str(store), "select nothing", "--engine", "spark"]) == 5
    assert "fleet sql:" in capsys.readouterr().err


@marked
def test_ansi_mode_is_on(store: Path) -> None:
    with pytest.raises(TareError, match=r"DIVIDE_BY_ZERO"):
        SparkStore(store, (), "local[2]").rows("select 1 / (recording - recording) from recordings")


def test_types_are_translated() -> None:
    assert (
        ddl("a bigint, b varchar, c varchar[], d map(varchar, varchar)")
        == "a bigint, b string, c array<string>, d map<string,string>"
    )
    assert "varchar" not in ddl(COLUMNS)


def test_a_missing_package_is_named(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert cli.main(["fleet", "report", str(store), "--engine", "spark"]) == 2
    assert "missing package pyspark: pip install 'heaptare[spark]'" in capsys.readouterr().err
    assert cli.main(["fleet", "report", str(store), "--spark-master", "local"]) == 2
    assert "--spark-master goes with --engine spark" in capsys.readouterr().err
