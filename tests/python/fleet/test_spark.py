"""Spark and DuckDB answer alike: each figure of reports and comparisons, on stores with gaps, merged files and odd names.

They are nightly: pyspark has 490 MB.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from fleet_made import add, facts
from tare import cli
from tare.errors import TareError
from tare.fleet import layout, upkeep
from tare.fleet.adding import Origin, add_facts
from tare.fleet.comparison import compare
from tare.fleet.spark import SparkStore
from tare.fleet.spark_session import missing
from tare.fleet.store import Store, condition
from tare.reports import fleet_difference, fleet_report

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(bool(missing()), reason=missing() or "Spark is installed")]
SPARK = ["--engine", "spark", "--spark-master", "local[2]"]
LENSES = ["leaks", "slop", "headers", "churn"]


def name(site: int) -> str:
    return "mover" if site >= 200 else f"f{site}"


def fill(store: Path, each: int, program: str) -> None:
    """Three builds, which share most machines; sites that come, go, grow and have two lines; lenses that don't always run; the first
    build's files merged."""
    generator = random.Random(program)
    layout.create(store)
    for build in range(3):
        recordings = []
        for number in range(each):
            sites = {site: generator.lognormvariate(8, 2) for site in range(1, 20) if generator.random() < 0.8}
            sites[100] = generator.lognormvariate(9, 0.1) * (1 + build)
            sites[200 + build] = 5000.0  # moves
            ran = LENSES if number % 5 else LENSES[:2]
            made = facts(sites, lenses=ran, program=program, started_ns=1000 * build + number, build_id=f"id{build}")
            made.rows["claims"][:] = [
                (lens, site, size / 7, size / 9, size * 3, 2.0, size > 9000)
                for lens in ran
                for site, size in sites.items()
            ]
            line = f"a.c:{number % 2}"
            made.rows["sites"][:] = [
                (site, f"id{build}", name(site), line, "/bin/app", f"{name(site)} ({line})\ng{site}") for site in sites
            ]
            origin = Origin(f"b{build}", f"m{number % 14 + build}", {"canary": "it's"})
            recordings.append((f"{program}-{build}-{number}", f"/r/{number}.tare", made, origin))
        add_facts(store, recordings, build)
        if build == 0:
            upkeep.compact(store)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "it's [1] {b} 50%20 ü*"
    fill(folder, 20, "app")
    fill(folder, 8, "it's \\ odd")
    return folder


def equal(a: Any, b: Any) -> None:
    """Equal types, too: 1 and 1.0 differ as text."""
    assert repr(a) == repr(b)


def difference(store: Store, builds: tuple[str, str], measure: str, unit: str) -> dict[str, Any]:
    before, after = ([condition(f"build={build}")] for build in builds)
    return fleet_difference.as_json(compare(store, before, after, measure, unit, None), measure)


def test_reports_are_equal(store: Path) -> None:
    one, other = Store(store), SparkStore(store, (), "local[2]")
    equal(fleet_report.as_json(other), fleet_report.as_json(one))
    where = [condition("program=it*"), condition("canary=it's")]
    equal(fleet_report.as_json(SparkStore(store, where, "local[2]")), fleet_report.as_json(Store(store, where)))


def test_differences_are_equal(store: Path) -> None:
    where = [condition("program=app")]
    one, other = Store(store, where), SparkStore(store, where, "local[2]")
    for measure, unit in (("gross", "machine"), ("tare", "recording")):
        made = difference(one, ("b0", "b2"), measure, unit)
        assert made["shared_units"] == (12 if unit == "machine" else 0)
        assert {"grew", "moved"} <= {each["kind"] for each in made["changed_sites"]}
        equal(difference(other, ("b0", "b2"), measure, unit), made)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from recordings order by recording",
        "select * from sites order by build_id, site",
        "select lens, count(*), max(total_bytes), min(calls) from claims group by lens order by lens",
        "select lens, percentile_cont(0.5) within group (order by peak_bytes), percentile_cont(0.99) within group (order by peak_bytes)"
        " from claims group by lens order by lens",
        "select key, labels['canary'] as canary from recordings order by key",
    ],
)
def test_statements_have_the_same_rows(store: Path, sql: str) -> None:
    equal(SparkStore(store, (), "local[2]").rows(sql), Store(store).rows(sql))


def test_the_verbs_answer(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = ["--where", "program=app", "--before", "build=b0", "--after", "build=b2"]
    for verb in (
        ["report", str(store)],
        ["diff", str(store), *groups],
        ["sql", str(store), "select 1 as one", "--json"],
    ):
        answers = []
        for engine in (SPARK, []):
            assert cli.main(["fleet", *verb, *engine]) == 0
            answers.append(capsys.readouterr().out)
        assert answers[0] == answers[1]
    assert cli.main(["fleet", "sql", str(store), "select nothing", *SPARK]) == 5
    assert "fleet sql:" in capsys.readouterr().err
    assert cli.main(["fleet", "report", str(store), "--where", "build=none", *SPARK]) == 2
    assert "no recording with build=none" in capsys.readouterr().err


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    add(tmp_path / "s", "a", facts({1: 10.0}))
    file = next((tmp_path / "s").glob("table=site_sums/*/*.parquet"))
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(TareError, match=r"run tare fleet verify"):
        SparkStore(tmp_path / "s", (), "local[2]").rows("select sum(calls) from site_sums")


def test_ansi_mode_is_on(store: Path) -> None:
    with pytest.raises(TareError, match=r"DIVIDE_BY_ZERO"):
        SparkStore(store, (), "local[2]").rows("select 1 / (recording - recording) from recordings")
