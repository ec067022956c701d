"""The page of a C++ program: source lines with their amounts, layouts of types to scale, sites behind operator new, own code, lenses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import CHROMIUM, Browser
from conftest import HERE

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium isn't installed (Debian's package)")

SOURCE = HERE / "programs/orders.cc"
_BY_LOCATION = (
    "select s.site_location_id as location, sum((usable_bytes + header_bytes) * peak_blocks) as gross, sum(total_blocks) as calls from site_sizes z"
    " join stack_sites x on x.stack_id = z.stack_id join sites s on s.site_id = x.site_id group by location"
)


@pytest.fixture(scope="module")
def trace(tare_module: Tare, program: Callable[..., Path]) -> Path:
    return tare_module.record(program("orders.cc", "-std=c++20"))


@pytest.fixture(scope="module")
def page(tare_module: Tare, trace: Path) -> Path:
    done = tare_module("report", trace, "--html", "--sources")
    assert done.returncode == 0, done.stderr
    return Path(f"{trace}.html")


def sites_of(tare: Tare, trace: Path) -> list[dict[str, Any]]:
    """Those of the source file, by the innermost function that is in it: the ones further in are of the library."""
    return tare.sql(
        trace,
        f"select min_by(f.function, inline_depth) as name, min_by(f.line, inline_depth) as line, any_value(gross) as gross, any_value(calls) as calls"
        f" from ({_BY_LOCATION}) join frames f on f.location_id = location where f.file like '%orders.cc' group by location",
    )


def test_lines_have_the_amounts_of_their_sites(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    """By the records of the report: each names the line of its site."""
    gross: Counter[int] = Counter()
    calls: Counter[int] = Counter()
    for row in sites_of(tare_module, trace):
        gross[row["line"]] += round(row["gross"])
        calls[row["line"]] += round(row["calls"])
    browser.open(page, script=False)
    rows = browser.evaluate(
        "[...document.querySelectorAll('.source tr[id]')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    shown = {int(row[4]): row for row in rows}
    text = SOURCE.read_text().splitlines()
    assert len(gross) >= 4
    for line in gross:
        assert shown[line][0] == f"{gross[line]:,}" and shown[line][3] == f"{calls[line]:,}", line
    assert all(row[5] == text[line - 1] for line, row in shown.items())
    whole = tare_module.report(trace)["peak"]["gross_bytes"]
    main = next(line for line, row in shown.items() if "list().size()" in row[5])
    assert int(shown[main][2].replace(",", "")) <= whole
    tare_bytes = sum(int(row[1].replace(",", "")) for row in rows if row[1])
    assert 0 < tare_bytes <= tare_module.report(trace)["peak"]["tare_bytes"]
    assert browser.evaluate("document.querySelectorAll('#findings a[href^=\"#L\"]').length") > 1
    assert browser.evaluate(
        "[...document.querySelectorAll('a[href^=\"#L\"]')].every((each) => document.querySelector(each.hash))"
    )


def test_sources_are_on_the_page_only_if_asked_for(tare_module: Tare, trace: Path, page: Path) -> None:
    assert "order-&gt;amount = number" in page.read_text()
    done = tare_module("report", trace, "--html", "-o", "plain.html")
    assert done.returncode == 0
    assert "amount = number" not in (tare_module.folder / "plain.html").read_text()
    assert tare_module("report", trace, "--sources").returncode == 2
    assert tare_module("run", "--sources", "--", "true").returncode == 125


def test_the_layout_of_a_type_is_drawn_to_scale(browser: Browser, page: Path) -> None:
    browser.open(page, script=False)
    drawn = browser.evaluate(
        "[...document.querySelectorAll('.layout')].map((each) => [each.querySelector('title').textContent,"
        " [...each.querySelectorAll('rect[class]')].map((box) => [box.getAttribute('class'), box.querySelector('title').textContent,"
        " Number(box.getAttribute('x')), Number(box.getAttribute('width')), Number(box.getAttribute('y'))])])"
    )
    title, boxes = next(each for each in drawn if "Order" in each[0])
    assert "as it is: 56 bytes, 27 of them holes; reordered: 32 bytes, 3 of them holes" in title
    first_row = min(box[4] for box in boxes)
    now = [box for box in boxes if box[4] == first_row]
    assert sum(box[3] + 1 for box in now if box[0] == "hole") == pytest.approx(720 * 27 / 56, abs=1)
    assert next(box for box in now if "amount" in box[1])[2] == pytest.approx(720 * 8 / 56, abs=0.1)


def test_functions_behind_operator_new_name_the_sites(
    tare_module: Tare, browser: Browser, trace: Path, page: Path
) -> None:
    expected: Counter[str] = Counter()
    for row in sites_of(tare_module, trace):
        expected[row["name"].rpartition("::")[2].partition("(")[0]] += round(row["gross"])
    browser.open(page, "#mode=up")
    boxes = browser.evaluate("tare.graph.below(tare.graph.root).map((box) => [tare.graph.nameOf(box), box.value])")
    names = Counter({name.rpartition("::")[2].partition("(")[0]: value for name, value in boxes})
    assert {name: names[name] for name in ("take", "fill", "list")} == {
        name: expected[name] for name in ("take", "fill", "list")
    }
    assert not any("operator new" in name for name, _ in boxes)
    browser.evaluate("tare.change({view: 'table'})")
    rows = browser.evaluate(
        "[...document.querySelectorAll('.table tbody tr')].map((row) => [row.cells[4].textContent, row.cells[0].textContent])"
    )
    itself = {name.rpartition("::")[2].partition("(")[0]: int(value.replace(",", "")) for name, value in rows}
    assert itself["take"] == expected["take"]
    shown = browser.evaluate("document.getElementById('command').textContent")
    (query,) = re.findall('tare sql \\S+ "(.*)"', shown)
    by_sql: Counter[str] = Counter()
    for row in tare_module.sql(trace, f"select * from ({query}) t(location, name, bytes)"):
        by_sql[row["location"]] += round(row["bytes"])
    assert by_sql == Counter({row["location"]: round(row["gross"]) for row in tare_module.sql(trace, _BY_LOCATION)})


def test_own_code_may_be_named_by_a_pattern(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    gross = tare_module.report(trace)["peak"]["gross_bytes"]
    names = "tare.store.functions.filter((each) => each.own).map((each) => each.file)"
    browser.open(page, "#own=1")
    assert any("orders.cc" not in file for file in browser.evaluate(names))
    browser.open(page, "#own=1&mine=programs%2Forders%5C.cc")
    assert all(file.endswith("programs/orders.cc") for file in browser.evaluate(names))
    assert browser.evaluate("tare.graph.root.value") == gross
    below = browser.evaluate("tare.graph.below(tare.graph.root).map((box) => tare.graph.nameOf(box))")
    assert below[0] == "main"
    browser.open(page, "#own=1&mine=(")
    assert browser.evaluate("document.getElementById('mine').getAttribute('aria-invalid')") == "true"
    assert browser.evaluate("tare.graph.root.value") == gross


@pytest.mark.parametrize("mode", ["down", "up"])
def test_colours_by_lens_stand_on_the_lenses_bytes(browser: Browser, page: Path, mode: str) -> None:
    browser.open(page, f"#colour=lens&mode={mode}")
    found = browser.evaluate("""(() => {
      const found = [];
      const walk = (box) => {
        found.push([box.marked, box.lenses.reduce((sum, each) => sum + each, 0)]);
        tare.graph.below(box).forEach(walk);
      };
      walk(tare.graph.root);
      return found;
    })()""")
    assert found[0][0] > 0
    assert all(marked == lenses for marked, lenses in found)
    assert "most tare: headers" in browser.evaluate("document.getElementById('app').innerText")
