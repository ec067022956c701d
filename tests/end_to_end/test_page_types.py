"""The page by types: treemap and table have the sums of `tare sql` for each type, at the peak and in any range of time."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import CHROMIUM, Browser

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium isn't installed (Debian's package)")

# By type: the sum of all boxes of the treemap, and their tare.
_BY_TYPE = """(() => {
  const { graph } = tare.views.treemap;
  const found = {};
  for (const box of graph.below(graph.root)) {
    const sums = (found[graph.typeOf(box)] ||= [0, 0]);
    sums[0] += box.value;
    sums[1] += box.marked;
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def trace(tare_module: Tare, program: Callable[..., Path]) -> Path:
    trace = tare_module.record(program("two_types.cc"))
    assert tare_module("report", trace, "--html").returncode == 0
    return trace


def by_sql(tare: Tare, browser: Browser, trace: Path) -> dict[str, int]:
    """By the statement that the page shows."""
    shown = browser.evaluate("document.getElementById('command').textContent")
    (query,) = re.findall('tare sql \\S+ "(.*)"', shown)
    rows = tare.sql(trace, query)
    if not rows:
        return {}
    (amount,) = set(rows[0]) - {"type"}
    return {row["type"] or "": round(row[amount]) for row in rows if row[amount] and round(row[amount])}


@pytest.mark.parametrize(
    "measure", ["peak.gross", "peak.blocks", "peak.slop", "end.gross", "total.gross", "total.blocks"]
)
def test_each_type_has_the_sum_of_sql(tare_module: Tare, browser: Browser, trace: Path, measure: str) -> None:
    browser.open(Path(f"{trace}.html"), f"#view=treemap&by=type&measure={measure}")
    found = {name: sums[0] for name, sums in browser.evaluate(_BY_TYPE).items()}
    assert {"Narrow", "Broad", ""} <= set(found)
    assert found == by_sql(tare_module, browser, trace)
    assert sum(found.values()) == browser.evaluate("tare.store.total(tare.state.measure)")


def test_the_types_of_one_function_are_parted(browser: Browser, trace: Path) -> None:
    """32 and 128 bytes with their headers; 500 and more of each are freed before the end."""
    browser.open(Path(f"{trace}.html"), "#view=treemap&by=type&measure=peak.blocks")
    boxes = browser.evaluate(
        "tare.views.treemap.graph.below(tare.views.treemap.graph.root).filter((box) => tare.views.treemap.graph.nameOf(box).startsWith('keep_both'))"
        ".map((box) => [tare.views.treemap.graph.typeOf(box), box.value])"
    )
    assert sorted(boxes) == [["", 3000], ["Broad", 3000], ["Narrow", 3000]]
    browser.evaluate("tare.change({measure: 'end.blocks'})")
    found = browser.evaluate(_BY_TYPE)
    assert (found["Narrow"][0], found["Broad"][0]) == (2000, 2500)
    # the flame graph still has one box of that function
    browser.evaluate("tare.change({view: 'flame', mode: 'up', measure: 'peak.blocks'})")
    assert (
        browser.evaluate(
            "tare.graph.below(tare.graph.root).find((box) => tare.graph.nameOf(box).startsWith('keep_both')).value"
        )
        == 9000
    )


def test_tare_and_net_of_a_type_are_those_of_the_ledger(tare_module: Tare, browser: Browser, trace: Path) -> None:
    """A Narrow has 8 bytes of header and 8 of slop (16 of 24), a Broad 8 and 8 (112 of 120)."""
    browser.open(Path(f"{trace}.html"), "#view=treemap&by=type")
    found = browser.evaluate(_BY_TYPE)
    rows = tare_module.sql(
        trace,
        "select type, sum((header_bytes + usable_bytes - requested_bytes) * peak_blocks) as tare from site_sizes"
        " join type_sites using (size_id) group by type",
    )
    tares = {row["type"]: round(row["tare"]) for row in rows}
    for name in ("Narrow", "Broad"):
        assert found[name][1] == tares[name] > 0
    browser.evaluate("tare.change({measure: 'peak.net'})")
    net = browser.evaluate(_BY_TYPE)
    for name, (gross, waste) in found.items():
        assert net[name][0] == gross - waste


def test_types_follow_the_timeline(tare_module: Tare, browser: Browser, trace: Path) -> None:
    browser.open(Path(f"{trace}.html"))
    ends = browser.evaluate("tare.store.lives.ends")
    chance = random.Random(4)
    seen: Counter[str] = Counter()
    for number in range(12):
        begin, end = sorted(chance.sample(range(-1, len(ends)), 2))
        life = ("live", "born", "kept", "freed")[number % 4]
        start = f"from: '{begin}', " if life != "live" else "from: '', "
        browser.evaluate(
            f"tare.change({{view: 'treemap', by: 'type', measure: 'time.gross', {start}to: '{end}', life: '{life}'}})"
        )
        found = {name: sums[0] for name, sums in browser.evaluate(_BY_TYPE).items()}
        assert found == by_sql(tare_module, browser, trace), (life, begin, end)
        seen.update(name for name, amount in found.items() if amount)
    assert seen["Narrow"] > 4 and seen["Broad"] > 4


def test_keys_and_the_table_show_types(browser: Browser, trace: Path) -> None:
    browser.open(Path(f"{trace}.html"))
    browser.evaluate("document.activeElement.blur()")
    browser.press("y")
    assert browser.evaluate("[tare.state.view, tare.state.by]") == ["treemap", "type"]
    browser.press("3")
    rows = browser.evaluate(
        "[...document.querySelectorAll('.view.table tbody tr')].map((row) => [row.cells[3].textContent, row.cells[0].textContent])"
    )
    drawn = browser.evaluate("tare.change({view: 'treemap'}), " + _BY_TYPE)
    assert dict(rows) == {name or "unknown": f"{sums[0]:,}" for name, sums in drawn.items()}
    browser.press("y")
    assert browser.evaluate("tare.state.by") == ""
