"""The page of a store: no script, all texts escaped, the numbers of the text report, marks at the right heights."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from fleet_made import add, facts
from tare import cli
from tare.fleet.quantiles import Fleet
from tare.fleet.store import Store
from tare.html import fleet_page
from tare.reports.fleet_report import cell


def fill(store: Path) -> None:
    for number in range(8):
        for turn, build in enumerate(("1.0", "<b>2")):
            made = facts({1: 1000.0 * (1 + turn) + number, 2: 50.0}, shown=[1], started_ns=turn)
            made.rows["sites"][:] = [(1, "ab" * 20, "f<int>", "a.c:1", "/bin/app", "f<int>\nmain")]
            add(store, f"{build}-{number}", made, build, f"m{number}")


def written(store: Path) -> str:
    out = io.BytesIO()
    fleet_page.write(Store(store), out, 10)
    return out.getvalue().decode()


def test_the_page_has_no_script_and_escapes(tmp_path: Path) -> None:
    fill(tmp_path)
    page = written(tmp_path)
    assert "<script" not in page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "default-src" in policy[1]
    assert "script-src" not in policy[1]
    assert "&lt;b&gt;2" in page
    assert "<b>2" not in page
    assert "f&lt;int&gt;" in page
    assert not re.search(r"(src|href)=", page)


def test_the_page_has_the_figures_of_the_report(tmp_path: Path) -> None:
    fill(tmp_path)
    page = written(tmp_path)
    fleet = Fleet(Store(tmp_path), "app")
    figures = [
        *(q for b in fleet.builds for q in (b.gross[0], b.tare[0])),
        *(f.quantiles[0] for f in fleet.sites(10) if f.build == "<b>2"),
    ]
    assert len(figures) == 5
    for quantile in figures:
        assert f"<td>{cell(quantile)}" in page
    assert "P99 isn&#x27;t shown below 368 recordings" in page
    assert "tare report &#x27;/r/&lt;b&gt;2-7.tare&#x27;" in page


def test_dots_are_as_high_as_their_quantiles(tmp_path: Path) -> None:
    fill(tmp_path)
    gross = [build.gross[0] for build in Fleet(Store(tmp_path), "app").builds]
    chart = written(tmp_path).split("<svg")[2]
    base = 250 - 40  # the line of 0 bytes
    dots = [base - float(y) for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', chart)]
    assert len(dots) == 2
    values = [quantile.value or 0 for quantile in gross]
    assert dots[1] / dots[0] == pytest.approx(values[1] / values[0], rel=0.01)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(tmp_path / "s")
    name = str(tmp_path / "s.html")
    assert cli.main(["fleet", "report", str(tmp_path / "s"), "--html", "-o", name]) == 0
    assert f"wrote {name}" in capsys.readouterr().err
    assert Path(name).read_text().startswith("<!doctype html>")
    assert cli.main(["fleet", "report", str(tmp_path / "s"), "-o", name]) == 2
    assert cli.main(["fleet", "report", str(tmp_path / "s"), "--html", "--json"]) == 2
