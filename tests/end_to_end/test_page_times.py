"""Times and ranges on the timeline of `tare report --html`: all views have the sums of the table of single blocks."""

from __future__ import annotations

import os
import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import CHROMIUM, Browser

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium isn't installed (Debian's package)")

THREADS = """
import json, threading
kept = []
def work(number):
    for step in range(300):
        made = json.loads(json.dumps([[str(n), n * 1.5] for n in range(step % 40)]))
        if step % (number + 2) == 0:
            kept.append(made)
        if len(kept) > 60:
            del kept[:30]
threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.fixture(scope="module")
def threaded(tare_module: Tare) -> Path:
    """Of a program whose threads keep some blocks and free others."""
    python = "/usr/bin/python3.11" if os.path.exists("/usr/bin/python3.11") else sys.executable
    done = tare_module("run", "-q", "-o", "threads.tare", "--", python, "-c", THREADS, env={"PYTHONMALLOC": "malloc"})
    assert done.returncode == 0, done.stderr
    assert tare_module("report", "threads.tare", "--html").returncode == 0
    return tare_module.folder / "threads.tare"


_FILES = "coalesce((select max(m.path) from stacks k join locations r using (location_id) join modules m using (module_id) where k.stack_id = b.alloc_stack_id), '')"


def _condition(life: str, after: float, end: float) -> str:
    """Of the table of single blocks: it doesn't know of intervals."""
    live_then = f"(freed_ns is null or freed_ns > {end})"
    return {
        "live": f"allocated_ns <= {end} and {live_then}",
        "born": f"allocated_ns > {after} and allocated_ns <= {end}",
        "kept": f"allocated_ns > {after} and allocated_ns <= {end} and {live_then}",
        "freed": f"freed_ns > {after} and freed_ns <= {end}",
    }[life]


def test_fifty_times_and_ranges_at_random(tare_module: Tare, browser: Browser, threaded: Path) -> None:
    """Each against the table of single blocks: sums, slop and headers (lenses), threads, modules, and each site."""
    browser.open(Path(f"{threaded}.html"))
    ends = browser.evaluate("tare.store.lives.ends")
    threads = browser.evaluate("tare.store.lives.threads")
    assert len(ends) > 100 and len(threads) == 4
    assert browser.evaluate("tare.store.facts.peak_ns") in ends
    chance = random.Random(1919)
    cases = []
    for number in range(50):
        life = ("live", "born", "kept", "freed")[number % 4]
        begin, end = sorted(chance.sample(range(-1, len(ends)), 2))
        thread = chance.choice([None, *threads]) if number % 3 == 0 else None
        cases.append((life, begin, end, thread))
    union = " union all ".join(
        f"select {number} as number, alloc_stack_id, usable_bytes, requested_bytes, weight from blocks where "
        f"{_condition(life, ends[begin] if begin >= 0 else -1, ends[end])}"
        + ("" if thread is None else f" and thread = {thread}")
        for number, (life, begin, end, thread) in enumerate(cases)
    )
    header = "case when usable_bytes % 16 = 8 then 8 else 16 end"
    by_file = tare_module.sql(
        threaded,
        f"select number, {_FILES} as file, count(*) as blocks, sum(usable_bytes + {header}) as gross,"
        f" sum(usable_bytes - requested_bytes) as slop, sum({header}) as header from ({union}) b group by number, file",
    )
    assert sum(row["blocks"] for row in by_file) > 10_000
    for number, (life, begin, end, thread) in enumerate(cases):
        fragment = f"#measure=time.gross&life={life}&to={end}"
        fragment += f"&from={begin}" if life != "live" else ""
        fragment += "" if thread is None else f"&thread={thread}"
        browser.evaluate(f"location.hash = '{fragment}'")
        browser.wait(f"tare.state.to === '{end}' && tare.state.life === '{life}'")
        sums: Counter[str] = Counter()
        files: Counter[str] = Counter()
        for row in by_file:
            if row["number"] == number:
                sums.update({name: row[name] for name in ("blocks", "gross", "slop", "header")})
                files[row["file"]] += row["gross"]
        for name in ("blocks", "gross", "slop", "header"):
            assert browser.evaluate(f"tare.store.total('time.{name}')") == sums[name], (cases[number], name)
        assert int(browser.evaluate("document.querySelector('#crumbs .sum').dataset.exact")) == sums["gross"]
        shown = browser.evaluate("document.getElementById('command').textContent")
        (query,) = re.findall('tare sql \\S+ "(.*)"', shown)
        (row,) = tare_module.sql(threaded, f"select coalesce(x, 0) as bytes from ({query}) t(x)")
        assert round(row["bytes"]) == sums["gross"], query
        by_module = """(() => {
          const found = {};
          tare.store.sums['time.gross'].forEach((value, node) => {
            const each = tare.store.functions[tare.store.frame[node]];
            if (value) found[each ? each.module : ''] = (found[each ? each.module : ''] || 0) + value;
          });
          return found;
        })()"""
        assert Counter(browser.evaluate(by_module)) == +files, cases[number]


def test_each_site_in_a_range_has_the_bytes_of_its_blocks(tare_module: Tare, browser: Browser, threaded: Path) -> None:
    browser.open(Path(f"{threaded}.html"))
    ends = browser.evaluate("tare.store.lives.ends")
    begin, end = len(ends) // 4, 3 * len(ends) // 4
    browser.evaluate(f"tare.change({{measure: 'time.gross', life: 'born', from: '{begin}', to: '{end}'}})")
    rows = tare_module.sql(
        threaded,
        "select f.function as name, sum(b.usable_bytes + case when b.usable_bytes % 16 = 8 then 8 else 16 end) as bytes from blocks b"
        " join stacks k on k.stack_id = b.alloc_stack_id join frames f on f.location_id = k.location_id and f.inline_depth = 0"
        # Functions that are inlined somewhere may stand there behind an allocation wrapper, which isn't shown.
        f" where {_condition('born', ends[begin], ends[end])} and f.function not in (select function from frames where inline_depth > 0)"
        " group by f.function",
    )
    expected = {row["name"]: row["bytes"] for row in rows if row["name"]}
    found = browser.evaluate("""(() => {
      const found = {};
      tare.store.sums['time.gross'].forEach((value, node) => {
        const each = tare.store.functions[tare.store.frame[node]];
        if (value) found[each.name] = (found[each.name] || 0) + value;
      });
      return found;
    })()""")
    same = set(found) & set(expected)
    assert len(same) > 5, (found, expected)
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}


def test_fifty_times_and_ranges_by_site(tare_module: Tare, browser: Browser, threaded: Path) -> None:
    """The table's rows by the statement below it, and the statement's parts by one query of the table of lives."""
    browser.open(Path(f"{threaded}.html"))
    ends = browser.evaluate("tare.store.lives.ends")
    chance = random.Random(50)
    expected: list[Counter[str]] = []
    statements, found = [], []
    for number in range(50):
        begin, end = sorted(chance.sample(range(-1, len(ends)), 2))
        life = ("live", "born", "kept", "freed")[number % 4]
        measure = ("gross", "blocks", "slop", "header")[number // 4 % 4]
        start = "" if life == "live" else str(begin)
        browser.evaluate(
            f"tare.change({{view: 'table', measure: 'time.{measure}', from: '{start}', to: '{end}', life: '{life}'}})"
        )
        shown = browser.evaluate("document.getElementById('command').textContent")
        (query,) = re.findall('tare sql \\S+ "(.*)"', shown)
        statements.append(
            f"select {number} as number, name, sum(amount) as amount from ({query}) t(site, name, amount) group by name"
        )
        found.append(
            Counter(
                dict(
                    browser.evaluate(
                        "(() => { const sums = {}; for (const row of tare.views.table.rows(tare.store, tare.state.measure, null))"
                        " if (row.self) sums[tare.store.functions[row.id].name] = (sums[tare.store.functions[row.id].name] || 0) + row.self;"
                        " return Object.entries(sums); })()"
                    )
                )
            )
        )
        expected.append(Counter())
    for row in tare_module.sql(threaded, " union all ".join(statements)):
        if row["amount"] and round(row["amount"]):
            expected[row["number"]][row["name"] or ""] += round(row["amount"])
    assert sum(len(each) for each in expected) > 300
    # Where an allocation wrapper is inlined, the statement has its name, and the page that of the function that calls it.
    wrappers = browser.evaluate(
        "tare.store.functions.filter((each) => tare.store.isWrapper[each.id]).map((each) => each.name)"
    )
    for number in range(50):
        plain = Counter({name: amount for name, amount in expected[number].items() if name not in wrappers})
        inlined = sum(expected[number].values()) - sum(plain.values())
        assert not plain - found[number], statements[number]
        assert sum((found[number] - plain).values()) == inlined, statements[number]


def test_the_timeline_is_a_control(browser: Browser, threaded: Path) -> None:
    """Mouse and keys choose times and ranges; all views follow; back goes back."""
    browser.open(Path(f"{threaded}.html"))
    gross = "Number(document.querySelector('#crumbs .sum').dataset.exact)"
    at_peak = browser.evaluate(gross)
    browser.evaluate("document.querySelector('#timeline svg').scrollIntoView({block: 'center'})")
    x, y, width = browser.evaluate(
        "(({x, y, width}) => [x, y, width])(document.querySelector('#timeline svg').getBoundingClientRect())"
    )
    browser.move(x + width * 0.3, y + 60)
    browser.move(x + width * 0.3, y + 60, "mousePressed")
    browser.move(x + width * 0.5, y + 60)
    browser.move(x + width * 0.7, y + 60)
    browser.move(x + width * 0.7, y + 60, "mouseReleased")
    browser.wait("tare.time() !== null && tare.time().isRange")
    assert "allocated from" in browser.evaluate("document.getElementById('when').textContent")
    in_range = browser.evaluate(gross)
    browser.evaluate(
        "(select => { select.value = 'kept'; select.dispatchEvent(new Event('change')); })(document.getElementById('choose-life'))"
    )
    assert 0 <= browser.evaluate(gross) < in_range
    browser.press("3")
    assert browser.evaluate("tare.time().life") == "kept"
    browser.press("1")
    browser.press("t")
    browser.press("p")
    assert not browser.evaluate("tare.time().isRange")
    assert browser.evaluate(gross) == at_peak
    browser.press("ArrowLeft")
    before = browser.evaluate("tare.time().to")
    assert browser.evaluate("tare.store.lives.ends[tare.time().to]") < browser.evaluate("tare.store.facts.peak_ns")
    browser.back()
    browser.wait(f"tare.time().to === {before + 1}")
    browser.press("t")
    browser.press("Escape")
    assert browser.evaluate("tare.time()") is None
    assert browser.evaluate(gross) == at_peak
