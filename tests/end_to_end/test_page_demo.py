"""The page of `make demo`'s recording: its size, every view by keys alone, and no serious finding of axe-core in the views that others' tests lack."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import CHROMIUM, Browser
from conftest import REPO
from test_page import axe_rules

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium isn't installed (Debian's package)")

PYTHON = "/usr/bin/python3.11" if os.path.exists("/usr/bin/python3.11") else sys.executable
MOST_BYTES = 250_000
GROSS = "Number(document.querySelector('#crumbs .sum').dataset.exact)"
ACTIVE = "(({tagName, id, className}) => [tagName.toLowerCase(), id, String(className.baseVal ?? className)])(document.activeElement)"


@pytest.fixture(scope="module")
def trace(tare_module: Tare) -> Path:
    program = REPO / "demo/concordance.py"
    done = tare_module("run", "-q", "-o", "demo.tare", "--", PYTHON, program, env={"PYTHONMALLOC": "malloc"})
    assert done.returncode == 0, done.stderr
    assert tare_module("report", "demo.tare", "--html").returncode == 0
    return tare_module.folder / "demo.tare"


@pytest.fixture(scope="module")
def page(trace: Path) -> Path:
    return Path(f"{trace}.html")


def tab_to(browser: Browser, condition: str) -> None:
    """Presses Tab until the focused element fulfils it."""
    for _ in range(400):
        browser.press("Tab")
        if browser.evaluate(f"Boolean(((it) => {condition})(document.activeElement))"):
            return
    raise AssertionError(f"Tab never comes to {condition}; the last is {browser.evaluate(ACTIVE)}")


def test_the_page_is_small(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    """With nothing folded: 14,000 stacks and more."""
    assert page.stat().st_size <= MOST_BYTES
    browser.open(page)
    assert browser.evaluate("tare.store.facts.folded") == 0
    assert browser.evaluate("tare.store.count") > 20_000
    assert browser.evaluate(GROSS) == tare_module.report(trace)["peak"]["gross_bytes"]


def test_keys_alone_reach_every_view(browser: Browser, page: Path) -> None:
    """From the top of the page: no mouse, and no focus set by the test."""
    browser.open(page)
    gross = browser.evaluate(GROSS)
    tab_to(browser, "it.closest('nav')")
    browser.press("Enter")  # a section
    tab_to(browser, "it.closest('.finding') && it.tagName === 'SUMMARY'")
    browser.press("Enter")
    assert browser.evaluate(
        "document.activeElement.parentElement.open && document.activeElement.parentElement.querySelector('.bars').offsetHeight > 0"
    )
    # a time and a range
    browser.press("t")
    browser.press("p")
    assert browser.evaluate(GROSS) == gross
    for key in ("ArrowLeft", "ArrowLeft"):
        browser.press(key)
    at = browser.evaluate("tare.time()")
    assert at["life"] == "live" and browser.evaluate("tare.store.lives.ends[tare.time().to]") < browser.evaluate(
        "tare.store.facts.peak_ns"
    )
    browser.press("Escape")
    assert browser.evaluate("tare.time()") is None
    # search: the text is typed
    browser.press("/")
    for letter in "words_of":
        browser.press(letter)
    browser.wait("tare.state.q === 'words_of' && document.getElementById('matched').dataset.exact")
    assert 0 < browser.evaluate("Number(document.getElementById('matched').dataset.exact)") < gross
    # the graph: down, zoom, back
    tab_to(browser, "it.tagName === 'CANVAS'")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        browser.press(key)
    assert browser.evaluate("tare.views.flame.focus.depth") == 3
    browser.press("Escape")
    assert browser.evaluate("tare.views.flame.focus.depth") == 2
    browser.press("c")
    assert browser.evaluate("tare.graph.mode") == "callers"
    browser.press("e")
    assert browser.evaluate("tare.graph.mode") == "callees"
    browser.press("o")
    assert browser.evaluate("tare.state.own") == "1"
    browser.press("r")
    assert browser.evaluate(GROSS) == gross
    # the measure by its menu
    browser.press("m")
    assert browser.evaluate("document.activeElement.id") == "choose-measure"
    browser.press("ArrowDown")
    browser.wait("tare.state.measure !== 'peak.gross'")
    # the table: a head sorts, a function opens its callers
    tab_to(browser, "it.closest('.tabs') && it.dataset.view === 'table'")
    browser.press("Enter")
    tab_to(browser, "it.closest('.view.table th[scope=col]')")
    browser.press("Enter")
    assert browser.evaluate("document.activeElement.closest('th').getAttribute('aria-sort')") == "descending"
    tab_to(browser, "it.closest('.view.table tbody')")
    browser.press("Enter")
    assert browser.evaluate("[tare.state.view, tare.state.mode]") == ["flame", "callers"]
    # the tree
    tab_to(browser, "it.getAttribute('role') === 'treeitem'")
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    assert browser.evaluate("document.activeElement.getAttribute('aria-level')") == "2"
    browser.press("?")
    assert browser.evaluate("document.querySelector('dialog').open")
    listed = browser.evaluate("[...document.querySelectorAll('dialog kbd')].map((each) => each.textContent)")
    assert {"/", "1 2 3", "d u", "c e", "o", "t", "m", "y", "Enter", "Escape", "r", "?"} <= set(listed)


def test_every_focusable_element_shows_its_focus(browser: Browser, page: Path) -> None:
    browser.open(page)
    for _ in range(60):
        browser.press("Tab")
        name, outline = browser.evaluate(
            "[document.activeElement.outerHTML.slice(0, 60), getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert outline != "none" or "<canvas" in name or "<body" in name, name


@pytest.mark.skipif(axe_rules() is None, reason="axe-core isn't installed (pip install axe-core-python)")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "fragment", ["view=treemap&by=type", "view=table&by=type", "measure=time.gross&from=20&to=90&life=kept"]
)
def test_axe_has_no_serious_finding_in_types_and_ranges(
    browser: Browser, page: Path, fragment: str, theme: str
) -> None:
    assert serious(browser, page, f"#{fragment}", theme) == []


@pytest.mark.skipif(axe_rules() is None, reason="axe-core isn't installed (pip install axe-core-python)")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_has_no_serious_finding_in_a_difference(
    tare_module: Tare, browser: Browser, trace: Path, theme: str
) -> None:
    if not (tare_module.folder / "d.html").exists():
        other = tare_module.record(PYTHON, "-c", "kept = [str(n) for n in range(9000)]", name="other.tare")
        done = tare_module("diff", other, trace, "--html", "-o", "d.html")
        assert done.returncode == 0, done.stderr
    assert serious(browser, tare_module.folder / "d.html", "#measure=peak.tare", theme) == []


def serious(browser: Browser, page: Path, fragment: str, theme: str) -> list[object]:
    """With all details open."""
    rules = axe_rules()
    assert rules
    browser.look(width=1200, height=900, dark=theme == "dark")
    browser.open(page, fragment)
    browser.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    browser.evaluate(f"{rules.read_text()}; 0")
    found = browser.evaluate(
        "axe.run().then((found) => found.violations.map(({id, impact, nodes}) => [id, impact, nodes[0].html]))"
    )
    browser.look(width=1200, height=900)
    return [each for each in found if each[1] in ("serious", "critical")]


def test_the_readme_begins_with_a_picture_of_the_page() -> None:
    first = [line for line in (REPO / "README.md").read_text().splitlines() if line][1]
    picture = re.fullmatch(r"!\[[^\]]{30,}\]\(([^)]+)\)", first)
    assert picture and (REPO / picture[1]).read_bytes().startswith(b"\x89PNG")
