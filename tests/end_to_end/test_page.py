"""`tare report --html` in a real browser: numbers on the page are those of `tare sql`, keys do everything, nothing is obeyed."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import CHROMIUM, Browser
from tare import _core
from test_hostile_names import HOSTILE, compiled

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium isn't installed (Debian's package)")

# Paths of function names with the bytes of each stack itself, walked through the boxes that the flame graph draws.
_STACKS = """(() => {
  const found = {};
  const walk = (box, path) => {
    const below = tare.graph.below(box);
    const own = box.value - below.reduce((sum, each) => sum + each.value, 0);
    if (own) found[path] = (found[path] || 0) + own;
    for (const each of below) walk(each, path ? `${path};${tare.graph.nameOf(each)}` : tare.graph.nameOf(each));
  };
  walk(tare.graph.root, '');
  return found;
})()"""


@pytest.fixture(scope="module")
def trace(tare_module: Tare) -> Path:
    """Of a real program with thousands of stacks."""
    python = "/usr/bin/python3.11" if os.path.exists("/usr/bin/python3.11") else sys.executable
    code = "import json, decimal; kept = json.loads(json.dumps([[str(n), n * 1.5] for n in range(3000)]))"
    done = tare_module("run", "-q", "-o", "t.tare", "--", python, "-c", code, env={"PYTHONMALLOC": "malloc"})
    assert done.returncode == 0, done.stderr
    return tare_module.folder / "t.tare"


@pytest.fixture(scope="module")
def page(tare_module: Tare, trace: Path) -> Path:
    done = tare_module("report", trace, "--html")
    assert done.returncode == 0, done.stderr
    return Path(f"{trace}.html")


def folded(tare: Tare, trace: Path) -> Counter[str]:
    """Gross bytes at the peak by stack."""
    sums: Counter[str] = Counter()
    for line in tare("export", trace, "--to", "folded").stdout.splitlines():
        stack, _, amount = line.rpartition(" ")
        sums[stack] += int(amount)
    return sums


def value(result: list[dict[str, Any]]) -> int:
    (row,) = result
    (found,) = row.values()
    return round(found)


def test_every_measure_is_that_of_sql(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    browser.open(page)
    report = tare_module.report(trace)
    lenses = {each["lens"]: each for each in report["lenses"]}
    measures = browser.evaluate("tare.store.facts.measures")
    totals = browser.evaluate(
        "Object.fromEntries(Object.keys(tare.store.sums).map((key) => [key, tare.store.total(key)]))"
    )
    assert len(measures) > 8
    for key, _, _, command, _ in measures:
        moment, _, what = key.partition(".")
        if what.startswith("tare:"):
            expected = round(lenses[what.removeprefix("tare:")][f"bytes_{moment}"])
        else:
            query = re.fullmatch(r'tare sql FILE "(.*)"', command)
            assert query, command
            expected = value(tare_module.sql(trace, query[1]))
        assert totals[key] == expected, key
    for moment in ("peak", "end"):
        assert (
            totals[f"{moment}.gross"]
            == totals[f"{moment}.net"] + totals[f"{moment}.tare"]
            == report[moment]["gross_bytes"]
        )


def test_each_stack_has_the_bytes_of_the_export(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate("tare.store.count") > 1000
    assert Counter(browser.evaluate(_STACKS)) == folded(tare_module, trace)


@pytest.mark.parametrize("mode", ["down", "up"])
@pytest.mark.parametrize("own", ["", "1"])
def test_the_sum_is_gross_in_each_mode(
    tare_module: Tare, browser: Browser, trace: Path, page: Path, mode: str, own: str
) -> None:
    gross = tare_module.report(trace)["peak"]["gross_bytes"]
    browser.open(page, f"#mode={mode}&own={own}")
    assert int(browser.evaluate("document.querySelector('#crumbs .sum').dataset.exact")) == gross
    assert f"{gross:,} bytes" in browser.evaluate("document.getElementById('crumbs').textContent")
    boxes = browser.evaluate(_STACKS)
    assert sum(boxes.values()) == gross
    assert all(amount >= 0 for amount in boxes.values())


def test_searches_and_functions_at_random(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    stacks = folded(tare_module, trace)
    names = sorted({name for stack in stacks for name in stack.split(";") if re.fullmatch(r"\w{6,}", name)})
    browser.open(page)
    for name in random.Random(19).sample(names, min(25, len(names))):
        inside = sum(amount for stack, amount in stacks.items() if name in stack.split(";"))
        browser.evaluate(f"tare.change({{q: '^{name}$'}})")
        assert int(browser.evaluate("document.getElementById('matched').dataset.exact")) == inside, name
        browser.evaluate(f"tare.around(tare.store.functions.find((each) => each.name === '{name}').id)")
        same = browser.evaluate(f"tare.store.functions.filter((each) => each.name === '{name}').length")
        if same == 1:
            for mode in ("callers", "callees"):
                browser.evaluate(f"tare.change({{mode: '{mode}', at: ''}})")
                assert int(browser.evaluate("document.querySelector('#crumbs .sum').dataset.exact")) == inside, (
                    name,
                    mode,
                )


def test_static_numbers_are_those_of_the_report(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    """Without scripts: read as a person without JavaScript reads it."""
    report = tare_module.report(trace)
    browser.open(page, script=False)
    text = browser.evaluate("document.body.innerText")
    for moment in ("peak", "end"):
        for name in ("gross_bytes", "net_bytes", "tare_bytes"):
            assert f"{report[moment][name]:,}" in text
    assert "The graphs need JavaScript" in text
    assert browser.evaluate("document.getElementById('app').childElementCount") == 0
    rows = browser.evaluate(
        "[...document.querySelectorAll('table.sites tbody tr')].map((row) => row.cells[0].textContent)"
    )
    expected = [f"{record['gross_bytes']:,}" for record in report["records"]["list"][:20]]
    assert rows == expected


def test_each_finding_has_the_histograms_of_its_line(
    tare_module: Tare, browser: Browser, trace: Path, page: Path
) -> None:
    """Sizes sum up to the allocations of the line, lifetimes to the blocks that were freed or live at the end."""
    browser.open(page, script=False)
    found = browser.evaluate(
        "[...document.querySelectorAll('.finding')].map((each) => [each.querySelector('h3').innerText,"
        " [...each.querySelectorAll('.bars pre')].map((bars) => bars.textContent)])"
    )
    rows = tare_module.sql(
        trace,
        "select s.site_location_id as line, sum(total_blocks) as total, sum(freed_within_16 + freed_within_64 + freed_within_256"
        " + freed_within_65536 + freed_later + end_blocks) as ended from site_sizes"
        " join stack_sites using (stack_id) join sites s using (site_id) group by line",
    )
    expected = {(round(row["total"]), round(row["ended"])) for row in rows}
    assert len(found) >= 2
    for name, bars in found:
        sizes, lifetimes = (
            sum(int(count.replace(",", "")) for count in re.findall(r" ([\d,]+) *$", text, re.MULTILINE))
            for text in bars
        )
        assert (sizes, lifetimes) in expected, (name, bars)


def test_the_keyboard_does_everything(browser: Browser, page: Path) -> None:
    browser.open(page)
    for _ in range(300):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    assert browser.evaluate("document.activeElement.tagName") == "CANVAS"
    for _ in range(3):
        browser.press("ArrowDown")
    assert browser.evaluate("document.getElementById('selected').textContent").count(";") == 2
    browser.press("Enter")
    browser.wait("location.hash.includes('at=')")
    browser.back()
    browser.wait("!location.hash.includes('at=') && tare.views.flame.focus === tare.graph.root")
    browser.press("u")
    assert browser.evaluate("tare.graph.mode") == "up"
    browser.press("2")
    assert browser.evaluate("document.querySelector('.treemap canvas').offsetHeight") > 100
    browser.press("3")
    assert browser.evaluate("document.querySelectorAll('.table tbody tr').length") > 3
    browser.press("?")
    assert browser.evaluate("document.querySelector('dialog').open")
    browser.press("Escape")
    browser.wait("!document.querySelector('dialog').open")
    browser.press("r")
    assert browser.evaluate("tare.state.view") == "flame"
    browser.settle()  # the outline is made after the next frame, too
    browser.evaluate("document.querySelector('[role=treeitem]').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    assert browser.evaluate("document.activeElement.getAttribute('aria-level')") == "2"
    browser.press("/")
    assert browser.evaluate("document.activeElement.id") == "search"


def test_the_treemap_has_the_sites_of_sql(tare_module: Tare, browser: Browser, trace: Path, page: Path) -> None:
    """By function; the sites of a Python program are lines of Python. Names of sites that stacks have by inlined functions differ."""
    rows = tare_module.sql(
        trace,
        "select any_value(f.function) as name, sum((usable_bytes + header_bytes) * peak_blocks) as bytes from site_sizes z"
        " join stack_sites x on x.stack_id = z.stack_id join sites s on s.site_id = x.site_id"
        " join frames f on f.location_id = s.site_location_id group by s.site_location_id, z.stack_id, z.size_id having count(*) = 1",
    )
    expected: Counter[str] = Counter()
    for row in rows:
        expected[row["name"]] += round(row["bytes"])
    browser.open(page, "#view=treemap")
    found = Counter(
        dict(
            browser.evaluate(
                "(() => { const graph = tare.views.treemap.graph; const sums = {};"
                " for (const box of graph.below(graph.root)) sums[graph.nameOf(box)] = (sums[graph.nameOf(box)] || 0) + box.value;"
                " return Object.entries(sums); })()"
            )
        )
    )
    assert sum(found.values()) == tare_module.report(trace)["peak"]["gross_bytes"]
    python = [
        name
        for name in expected
        if expected[name] and re.fullmatch(r"(loads|py_scanstring|<module>|JSONDecoder\.\w+|\w+_decode)", name)
    ]
    assert any(found[name] == expected[name] for name in python), (found, expected)
    same = [name for name in expected if expected[name] and found[name] == expected[name]]
    assert len(same) > 10


def test_a_link_shows_the_same_view(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("tare.change({view: 'table', measure: 'total.blocks', q: 'a|e', own: '1'})")
    browser.settle()
    text = "document.getElementById('app').innerText"
    before, fragment = browser.evaluate(text), browser.evaluate("location.hash")
    browser.open(page, fragment)
    assert browser.evaluate(text) == before
    browser.open(page, "#view=nothing&measure=x&at=99999999.-1&around=zz&mode=callers&q=(")
    assert browser.evaluate("tare.graph.root.value") > 0
    assert "not a regular expression" in browser.evaluate(text)


def test_a_hover_names_the_box(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("document.querySelector('.flame canvas').scrollIntoView({block: 'center'})")
    bounds = browser.evaluate("(({x, y}) => [x, y])(document.querySelector('.flame canvas').getBoundingClientRect())")
    browser.move(bounds[0] + 20, bounds[1] + 8)
    total = browser.evaluate("tare.graph.root.value")
    assert f"{total:,} bytes" in browser.evaluate("document.querySelector('.tip').textContent")


def test_hostile_names_are_shown_not_obeyed(tare: Tare, browser: Browser) -> None:
    """HTML, escapes, marks of direction and invalid UTF-8 in functions, paths and arguments; on the page and on that of a difference."""
    symbol = f"{HOSTILE}</script><img src=x onerror=document.title='OWNED'>"
    program = compiled(tare.folder, symbol, "p <b onclick=alert(1)>&amp;\x1b[31m\u202e\udcff")
    odd, other = tare.folder / "t <i>\u202e\udcfe.tare", tare.folder / "other.tare"
    arguments = [
        "</title><script>document.title='OWNED'</script>",
        "\x1b[31m\u2066gnp\x9b2J",
        "\udcff\udcc3<b onclick=alert(2)>",
    ]
    done = tare("run", "-q", "-o", odd, "--", program, *arguments)
    assert done.returncode == 0, done.stderr
    done = tare("run", "-q", "-o", other, "--", "/bin/true")
    assert done.returncode == 0, done.stderr
    assert tare("report", odd, "--html", "-o", "one.html").returncode == 0
    assert tare("diff", other, odd, "--html", "-o", "two.html").returncode == 0
    for name in ("one.html", "two.html"):
        browser.open(tare.folder / name, "#view=table&measure=total.gross")
        assert "OWNED" not in browser.evaluate("document.title").replace("]0;OWNED", "")
        assert browser.evaluate("document.querySelectorAll('img, i:not(.stack i), b[onclick], [onerror]').length") == 0
        assert browser.evaluate("document.scripts.length") == 2
        text = browser.evaluate("document.body.innerText")
        assert "<img src=x onerror=document.title='OWNED'>" in text
        assert "\\x1b[31m" in text and "\\u202e" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffd]", text)
    browser.open(tare.folder / "one.html")
    text = browser.evaluate("document.body.innerText")
    assert "</title><script>" in text and "\\xff\\xc3<b onclick=alert(2)>" in text and "\\u2066gnp\\u009b2J" in text


def axe_rules() -> Path | None:
    found = find_spec("axe_core_python")
    folder = Path(found.origin or "").parent if found else None
    return next(folder.rglob("axe.min.js"), None) if folder else None


@pytest.mark.parametrize("view", ["flame", "treemap", "table"])
@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
@pytest.mark.skipif(axe_rules() is None, reason="axe-core isn't installed (pip install axe-core-python)")
def test_axe_has_no_serious_finding(browser: Browser, page: Path, view: str, theme: str) -> None:
    rules = axe_rules()
    assert rules
    browser.look(width=1200, height=900, dark=theme == "dark")
    browser.open(page, f"#view={view}&q=a")
    browser.evaluate(f"tare.setTheme('{theme if theme == 'contrast' else ''}')")
    browser.evaluate(f"{rules.read_text()}; 0")
    found = browser.evaluate(
        "axe.run().then((found) => found.violations.map(({id, impact, nodes}) => [id, impact, nodes[0].html]))"
    )
    browser.look(width=1200, height=900)
    assert [each for each in found if each[1] in ("serious", "critical")] == [], json.dumps(found)


def test_a_narrow_page_has_no_sideways_scroll(browser: Browser, page: Path) -> None:
    browser.look(width=390, height=800)
    browser.open(page)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    browser.look(width=1200, height=900)
    assert wide <= 390


def test_output_and_its_errors(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("churning.c"))
    whole = tare("report", trace, "--html", "-o", "-")
    assert whole.stdout.startswith("<!doctype html>")
    assert tare("report", trace, "--html", "--json").returncode == 2
    assert tare("report", trace, "-o", "x.html").returncode == 2
    missing = tare("report", trace, "--html", "-o", "no/such/folder.html")
    assert missing.returncode == 4
    assert "can't write no/such/folder.html" in missing.stderr
    shown = tare(
        "report", trace, "--html", "-o", "x.html", "--open", env={"BROWSER": f"{os.path.realpath('/bin/echo')} %s"}
    )
    assert f"file://{tare.folder}/x.html" in shown.stdout


def _sql_change(tare: Tare, before: Path, after: Path, command: str) -> int:
    """By the statement that the page shows: of each file."""
    query = re.search(r'tare sql \$each "(.*)"; done', command)
    assert query, command
    values = [value(tare.sql(trace, query[1])) for trace in (before, after)]
    return values[1] - values[0]


def test_every_measure_of_a_difference_is_that_of_its_statement(
    tare_module: Tare, browser: Browser, trace: Path
) -> None:
    """Each by `tare sql` of both files or `tare diff --json`, to the byte, in the tree and in the crumbs."""
    other = tare_module.record("/bin/sh", "-c", "exec env", name="other.tare")
    done = tare_module("diff", trace, other, "--html")
    assert done.returncode == 0, done.stderr
    browser.open(tare_module.folder / "t-other.html")
    changes = json.loads(tare_module("diff", trace, other, "--json").stdout)
    shown = browser.evaluate("tare.measures.map(({ key }) => key)")
    every = {"peak.gross", "peak.net", "peak.tare", "peak.tare:slop", "peak.tare:headers", "peak.blocks", "peak.slop"}
    every |= {"end.gross", "end.net", "end.tare", "end.blocks", "end.slop"}
    assert every | {"total.gross", "total.blocks", "total.slop", "total.time"} <= set(shown)
    for key in shown:
        browser.evaluate(f"tare.change({{measure: '{key}'}})")
        grown, shrunk = (browser.evaluate(f"tare.store.total('{key}:{each}')") for each in ("grown", "shrunk"))
        drawn = int(browser.evaluate("document.querySelector('#crumbs .sum').dataset.exact"))
        assert drawn == grown + shrunk == sum(abs(each) for each in browser.evaluate(_CHANGES)), key
        moment, _, what = key.partition(".")
        command = browser.evaluate("document.getElementById('command').textContent")
        if what.startswith("tare:"):
            expected = changes["lenses"][what.removeprefix("tare:")][f"bytes_{moment}"]["change"]
        elif what in ("net", "tare"):
            assert command.endswith(f"| jq .{moment}.{what}_bytes")
            expected = changes[moment][f"{what}_bytes"]["change"]
        else:
            expected = _sql_change(tare_module, trace, other, command)
        assert grown - shrunk == expected, key
    peak = changes["peak"]["gross_bytes"]
    browser.evaluate("tare.change({measure: 'peak.gross'})")
    assert f"{peak['change']:+,}" in browser.evaluate("document.getElementById('balance').innerText")
    same = tare_module("diff", trace, trace, "--html", "-o", "same.html")
    assert same.returncode == 0, same.stderr
    browser.open(tare_module.folder / "same.html")
    assert browser.evaluate("tare.measures.map(({ key }) => key)") == ["peak.gross"]
    assert browser.evaluate("tare.graph.root.value") == 0


# Of each stack the signed change.
_CHANGES = """(() => {
  const { store, state } = tare;
  return [...store.sums[`${state.measure}:grown`]].map((value, node) => value - store.sums[`${state.measure}:shrunk`][node]).filter(Boolean);
})()"""


def test_a_stack_of_10000_frames_draws(tare: Tare, browser: Browser) -> None:
    """Its box at the bottom can be reached, zoomed into, and linked to."""
    trace = tare.folder / "deep.tare"
    writer = _core.create_import(
        str(trace), imported_from="made", missing_facts="", exe="/bin/deep", command_line=["deep"], pid=1,
        start_realtime_ns=0, aggregated=False, allocator=0,
    )  # fmt: skip
    module = writer.add_module("/bin/deep", 0, 0, 1 << 40, b"")
    rows = [writer.add_named_row(module, 16 * n + 16, [(f"function_{n}", "deep.c", n + 1)]) for n in range(3)]
    stack = 0
    for number in range(10_000):
        stack = writer.stack(stack, rows[number % 3])
    writer.begin_block(1000, 0, 1 << 20, writer.shape(stack, 1, 0, 100, 104, 1.0))
    writer.finish(2000, True, 0)
    done = tare("report", trace, "--html")
    assert done.returncode == 0, done.stderr
    page = Path(f"{trace}.html")
    browser.open(page)
    assert browser.evaluate("tare.views.flame.rows.length") == 10_001
    browser.evaluate("tare.views.flame.scroller.scrollTop = 1e9; tare.views.flame.draw()")
    browser.evaluate("tare.zoom(tare.views.flame.rows.at(-1)[0].box)")
    assert browser.evaluate("tare.views.flame.focus.depth") == 10_000
    browser.settle()
    fragment = browser.evaluate("location.hash")
    browser.open(page, fragment)
    assert browser.evaluate("tare.views.flame.focus.depth") == 10_000
    assert browser.evaluate("tare.views.flame.rows.length") == 4  # with three of its callers
    browser.evaluate("tare.change({mode: 'up', at: ''})")
    assert browser.evaluate("tare.views.flame.rows.length") == 10_001


def test_a_run_leaves_a_page_and_the_programs_status(tare: Tare) -> None:
    done = tare("run", "--html", "-o", "a.tare", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "tare: wrote a.tare.html" in done.stderr
    assert (tare.folder / "a.tare.html").read_text().startswith("<!doctype html>")
    (tare.folder / "b.tare.html").mkdir()
    done = tare("run", "--html", "-o", "b.tare", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "can't write b.tare.html" in done.stderr
    assert tare("run", "--open", "--", "true").returncode == 125
