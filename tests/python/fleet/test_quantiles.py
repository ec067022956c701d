"""Quantiles over a store: exact ranks, zeros that have no rows, and intervals that hold what they promise."""

import random
from itertools import accumulate
from math import comb
from pathlib import Path

import pytest
from fleet_made import add, facts
from tare.commands.fleet import report
from tare.fleet.order_statistics import PROBABILITIES, least_size, ranks
from tare.fleet.quantiles import Fleet
from tare.fleet.store import Store
from tare.reports import fleet_report
from tare.text.terminal import Style


@pytest.mark.parametrize("p", PROBABILITIES)
@pytest.mark.parametrize("size", [1, 5, 6, 7, 16, 35, 36, 100, 367, 368, 1000])
def test_ranks_are_the_narrowest_with_the_confidence(size: int, p: float) -> None:
    below = list(accumulate(comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(size)))  # P(at most k below)
    low = max((rank for rank in range(1, size + 1) if below[rank - 1] <= 0.025), default=None)
    high = min((rank for rank in range(1, size + 1) if below[rank - 1] >= 0.975), default=None)
    _, *found = ranks(size, p)
    assert found == ([low, high] if low and high else [None, None])
    assert (size >= least_size(p)) == (found[0] is not None)


def test_least_sizes() -> None:
    assert [least_size(p) for p in PROBABILITIES] == [6, 36, 368]


@pytest.mark.slow
def test_quantiles_of_a_store_are_those_of_sorted_values(tmp_path: Path) -> None:
    generator = random.Random(5)
    values = []
    for key in range(40):
        size = float(generator.randrange(1000, 9000)) if key % 4 else 0.0  # a quarter doesn't have the site
        values.append(size / 10)
        add(tmp_path, f"{key}", facts({1: size, 2: 100.0} if size else {2: 100.0}, shown=[1] if size > 5000 else []))
    fleet = Fleet(Store(tmp_path), "app")
    (site,) = fleet.sites(None)
    values.sort()
    middle, low, high = ranks(40, 0.9)
    assert low is not None
    assert high is not None
    assert site.quantiles[1] == (values[middle - 1], values[low - 1], values[high - 1])
    assert site.quantiles[0] == tuple(values[rank - 1] for rank in ranks(40, 0.5) if rank)
    assert site.quantiles[2] == (None, None, None)
    assert site.found == sum(value > 500 for value in values)
    (build,) = fleet.builds
    assert build.gross[0].value == values[19] * 10 + 100
    (lens,) = fleet.lenses()
    assert lens.quantiles[0].value == pytest.approx(values[19] + 10)


def test_a_lens_that_did_not_run_does_not_count(tmp_path: Path) -> None:
    for key in range(14):
        ran = key < 7
        made = facts({1: 1000.0}, shown=[1], lenses=["slop"] if ran else ["headers"])
        if not ran:
            made.rows["claims"].clear()
        add(tmp_path, f"{key}", made)
    (lens,) = Fleet(Store(tmp_path), "app").lenses()
    assert (lens.recordings, lens.quantiles[0].value) == (7, 100.0)


def test_the_report_names_what_it_refuses(tmp_path: Path) -> None:
    for key in range(7):
        add(tmp_path, f"{key}", facts({1: 1000.0 + key}, shown=[1]), build="old")
        add(tmp_path, f"n{key}", facts({1: 2000.0}, shown=[1], started_ns=2000), build="new")
    import io

    text = "\n".join(fleet_report.lines(Store(tmp_path), 10, Style(io.StringIO()), 120))
    assert "P99 isn't shown below 368 recordings, because it has no 95 % interval there: old has 7, new has 7" in text
    assert "1003 B -> 1.95 KiB" in text or "100 B -> 200 B" in text
    assert "f1 (a.c:1)" in text
    assert "/r/n0.tare" in text
    assert text.index("old") < text.index("new")
    (program,) = fleet_report.as_json(Store(tmp_path))["programs"]
    assert program["builds"][0]["gross_bytes"]["P99"] is None
    assert program["builds"][0]["refused"] == {"P90": "needs 36 recordings", "P99": "needs 368 recordings"}


def test_the_verbs_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tare import cli

    add(tmp_path, "a", facts({1: 1000.0}), canary="yes")
    assert report.SYNOPSIS
    assert (
        cli.main(["fleet", "sql", str(tmp_path), "select labels['canary'] as c, build from recordings", "--json"]) == 0
    )
    assert '"c": "yes"' in capsys.readouterr().out
    assert cli.main(["fleet", "report", str(tmp_path), "--where", "canary=no"]) == 2
    assert "no recording with canary=no" in capsys.readouterr().err
    assert cli.main(["fleet", "sql", str(tmp_path), "select nothing"]) == 5
    assert "fleet sql:" in capsys.readouterr().err
