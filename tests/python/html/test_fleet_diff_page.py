"""The page of a comparison: no script, all texts escaped, the numbers of the text report, marks at the right places."""

import re
from pathlib import Path

import pytest
from fleet_made import add, facts
from tare import cli
from tare.fleet.comparison import Comparison, compare
from tare.fleet.store import Store, condition
from tare.reports.fleet_difference import change, headline

GROUPS = ["--before", "build=1", "--after", "build=<b>2"]


def fill(store: Path) -> None:
    stacks = {1: "grow<int>\nmain", 2: "shrink\nmain", 3: "same\nmain"}
    for machine in range(12):
        for turn, build in enumerate(("1", "<b>2")):
            made = facts({1: 1000.0 * (1 + turn) + machine, 2: 4000.0 - 2000 * turn + machine % 5, 3: 700.0 + machine})
            made.rows["sites"][:] = [
                (site, "ab" * 20, stack.split("\n")[0], "a.c:1", "/bin/app", stack) for site, stack in stacks.items()
            ]
            add(store, f"{build}-{machine}", made, build, f"{build}-m{machine}")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    fill(tmp_path / "s")
    return tmp_path / "s"


def compared(store: Path) -> Comparison:
    return compare(Store(store), [condition("build=1")], [condition("build=<b>2")], "gross", "machine", None)


def written(store: Path, *options: str) -> str:
    page = store.with_suffix(".html")
    assert cli.main(["fleet", "diff", str(store), *GROUPS, "--html", "-o", str(page), *options]) == 0
    return page.read_text()


def test_the_page_has_no_script_and_escapes(store: Path) -> None:
    page = written(store)
    assert "<script" not in page
    assert "script-src" not in page
    assert "build=1 → build=&lt;b&gt;2" in page
    assert "<b>2" not in page
    assert "grow&lt;int&gt;" in page
    assert not re.search(r"(src|href)=", page)


def test_the_page_has_the_figures_of_the_comparison(store: Path) -> None:
    page, result = written(store), compared(store)
    assert {each.kind for each in result.sites} == {"grew", "shrank"}
    assert headline(result, "machine") in page
    for each in result.sites:
        assert f"<td>{change(each.mean, 'bytes')}" in page
    for name, shifts in result.totals.items():
        for shift in shifts.values():
            assert f"{name} P50" in page
            assert f"<td>{change(shift, 'bytes')}" in page
    assert "2 sites of 3 changed" in page
    assert "and 1 more (-n all)" in written(store, "-n", "1")


def test_marks_are_at_their_changes(store: Path) -> None:
    result = compared(store)
    chart = written(store).split("<svg")[-1].split("</svg>")[0]
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', chart)]
    lines = [
        (float(a), float(b)) for a, b in re.findall(r'<g><title>[^<]*</title><line x1="([\d.]+)" x2="([\d.]+)"', chart)
    ]
    assert len(dots) == len(lines) == 2
    (zero,) = (float(x) for x in re.findall(r'<line x1="([\d.]+)" x2="\1" [^>]*class="curve"', chart))
    scale = (dots[0] - zero) / result.sites[0].mean.change
    for dot, (low, high), site in zip(dots, lines, result.sites, strict=True):
        assert dot - zero == pytest.approx(scale * site.mean.change, abs=0.2)
        assert low - zero == pytest.approx(scale * site.mean.low, abs=0.2)
        assert high - zero == pytest.approx(scale * site.mean.high, abs=0.2)
        assert low <= dot <= high


def test_forms_of_output_exclude_each_other(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fleet", "diff", str(store), *GROUPS, "--html", "--json"]) == 2
    assert cli.main(["fleet", "diff", str(store), *GROUPS, "-o", "x"]) == 2
    assert "-o and --open go with --html" in capsys.readouterr().err
