"""Pages of stacks in real browsers: Tare's beside those of async-profiler's converter, speedscope and memray, on the same stacks.

Cases: the recording of `make demo`; one of cc1plus, gcc's C++ compiler, at a small file with large headers; and a generated one of 100,000 stacks and
500,000 nodes with one stack 5,000 frames deep. Each page is
opened in Debian's Chromium and Firefox, the subjects in turn, with a page of one line among them: it shows the browser's own share. Metrics: size
of the page with its data; first paint; ready (the graph is drawn); in Chromium the CPU time of the page's thread until it is ready.
Of Tare's page also zoom, hover and pan (the 95th percentile of 60 frames), search, brush and bottom-up, of async-profiler's search and bottom-up. The
time of a frame is that of the script, the style, the layout and the paint. A zoom has two: one draws the graph, and the next one the tree beside it; the
slower one counts. `report` and `making` are the CPU time of the default report and of the page, both from the trace alone. memray records Python programs itself, so it has the demo only.

`make bench-page`, or `python3 bench/page.py --runs 3`; `--alone` leaves out the peers. It needs chromium and firefox-esr, npm for speedscope (`make build/viewers/.installed`) and
Maven for async-profiler's converter; a peer that is missing is left out with a remark.
"""

from __future__ import annotations

import argparse
import base64
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.firefox import FIREFOX, Firefox
from harness.measure import ROOT
from harness.results import Results, table

sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from browser import CHROMIUM, Browser  # type: ignore[import-not-found]

TARE = ROOT / ".venv/bin/tare"
PYTHON = "/usr/bin/python3.11"
CONVERTER = Path.home() / ".m2/repository/tools/profiler/async-profiler-converter/3.0/async-profiler-converter-3.0.jar"
SPEEDSCOPE = ROOT / "build/viewers/node_modules/speedscope/dist/release"
STACKS, NODES, DEEP, FUNCTIONS = 100_000, 500_000, 5_000, 20_000
STEPS = 60
METRICS = ("bytes", "paint", "ready", "cpu", "zoom", "hover", "pan", "search", "brush", "bottom-up")
BLANK = "a line of text"
CASES = ("demo", "cc1plus", "generated")

PAINT = "(performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint') || {startTime: null}).startTime"
TIMED = "((act) => {{ const begin = performance.now(); act(); return performance.now() - begin; }})({act})"
# A message that is sent in a frame arrives after its style, layout and paint.
FRAME = """new Promise((done) => requestAnimationFrame(() => {{
  const begin = performance.now();
  const channel = new MessageChannel();
  channel.port1.onmessage = () => done(performance.now() - begin);
  ({act})();
  channel.port2.postMessage(0);
}}))"""


def generate(path: Path) -> None:
    """As an import: stacks that share callers, as those of a program do; blocks that live for a tenth of the run on average."""
    from tare import _core

    chance = random.Random(19)
    writer = _core.create_import(
        str(path), imported_from="generated", missing_facts="", exe="/bin/generated", command_line=["generated"], pid=1,
        start_realtime_ns=0, aggregated=False, allocator=0,
    )  # fmt: skip
    module = writer.add_module("/bin/generated", 0, 0, 1 << 40, b"")
    rows = [
        writer.add_named_row(module, 16 * n + 16, [(f"ns{n % 97}::function_{n}", f"source_{n % 800}.cc", n % 999 + 1)])
        for n in range(FUNCTIONS)
    ]
    nodes, leaves = [0], []
    deep = 0
    for _ in range(DEEP):
        deep = writer.stack(deep, rows[chance.randrange(50)])
    leaves.append(deep)
    new = (NODES - DEEP) // (STACKS - 1)
    while len(leaves) < STACKS:
        node = nodes[int(len(nodes) * chance.random() ** 2)]
        for _ in range(new):
            node = writer.stack(node, rows[int(FUNCTIONS * chance.random() ** 2)])
            nodes.append(node)
        leaves.append(node)
    ends: list[tuple[int, int]] = []
    for number, leaf in enumerate(leaves):
        stamp = 10_000 * number
        size = chance.choice((16, 24, 40, 100, 1000, 5000))
        shape = writer.shape(leaf, 1, 0, size, size + 8 & ~15 | 8, 1.0)
        writer.begin_block(stamp, number % 3, 32 * (number + 1) << 8, shape)
        ends.append((number, number + int(chance.expovariate(10 / STACKS))))
        if number % 50 == 0:
            for dead, _ in [each for each in ends if each[1] <= number]:
                writer.end_block(stamp + 1, dead % 3, 32 * (dead + 1) << 8)
            ends = [each for each in ends if each[1] > number]
    writer.finish(10_000 * STACKS, True, 0)


def run(*command: str | Path, **environment: str) -> None:
    subprocess.run([str(each) for each in command], check=True, capture_output=True, env={**os.environ, **environment})


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def record(case: str, trace: Path) -> None:
    if case == "demo":
        run(TARE, "run", "-q", "-o", trace, "--", PYTHON, ROOT / "demo/concordance.py", PYTHONMALLOC="malloc")
    elif case == "cc1plus":
        # preprocessed beforehand: the driver knows the folders of headers
        compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
        source, expanded = ROOT / "tests/end_to_end/programs/orders.cc", trace.with_suffix(".ii")
        run("g++", "-std=c++20", "-E", source, "-o", expanded)
        command: list[str | Path] = [compiler.stdout.strip(), "-quiet", "-std=c++20", "-fpreprocessed", expanded]
        run(TARE, "run", "-q", "-o", trace, "--", *command, "-o", trace.with_suffix(".s"))
    else:
        run(ROOT / ".venv/bin/python", __file__, "--generate", trace)


def pages(
    case: str, trace: Path, folder: Path, results: Results, *, runs: int, with_peers: bool
) -> dict[str, tuple[str, str, int]]:
    """By subject: the address, the condition of a drawn graph, and the bytes that it loads."""
    made: dict[str, tuple[str, str, int]] = {}
    page, blank = folder / f"{case}.html", folder / "blank.html"
    blank.write_text("<!doctype html><title>Blank</title><p>A line of text.</p>")
    made[BLANK] = (f"file://{blank}", "document.readyState === 'complete'", blank.stat().st_size)
    ways: dict[str, list[str | Path]] = {"report": [], "making": ["--html", "-o", page]}
    for metric, options in [*ways.items()] * runs:
        shutil.rmtree(trace.with_name(f".{trace.name}.cache"), ignore_errors=True)
        before = children_cpu()
        run(TARE, "report", trace, *options)
        results.add(case, "tare", metric, 1000 * (children_cpu() - before), "ms")
    made["tare"] = (f"file://{page}", "window.tare", page.stat().st_size)
    if not with_peers:
        results.remark("measured without the peers' pages (--alone)")
        return made
    folded = folder / f"{case}.folded"
    run(TARE, "export", trace, "--to", "folded", "-o", folded)
    if CONVERTER.exists() and shutil.which("java"):
        graph = folder / f"{case}-async.html"
        run("java", "-cp", CONVERTER, "FlameGraph", folded, graph)
        made["async-profiler 3.0"] = (f"file://{graph}", "document.readyState === 'complete'", graph.stat().st_size)
    else:
        results.remark(
            "async-profiler's converter isn't installed: mvn dependency:get -Dartifact=tools.profiler:async-profiler-converter:3.0"
        )
    if SPEEDSCOPE.exists():
        profile = folder / f"{case}.speedscope.json"
        run(TARE, "export", trace, "--to", "speedscope", "-o", profile)
        script = folder / f"{case}.speedscope.js"  # as its own command does for a browser without a server
        script.write_text(
            f"speedscope.loadFileFromBase64('{profile.name}', '{base64.b64encode(profile.read_bytes()).decode()}')"
        )
        viewer = sum(
            each.stat().st_size for each in SPEEDSCOPE.glob("*") if each.suffix in (".js", ".css", ".html", ".woff2")
        )
        address = f"file://{SPEEDSCOPE / 'index.html'}#localProfilePath={script}"
        made["speedscope 1.25"] = (
            address,
            "document.title.endsWith(' - speedscope') && document.querySelector('canvas')",
            viewer + script.stat().st_size,
        )
    else:
        results.remark("speedscope isn't installed: make build/viewers/.installed")
    memray = ROOT / ".venv/bin/memray"
    if case == "demo" and memray.exists():
        capture, graph = folder / "demo.memray", folder / "demo-memray.html"
        run(memray, "run", "--native", "-o", capture, ROOT / "demo/concordance.py", PYTHONMALLOC="malloc")
        run(memray, "flamegraph", "--no-web", "-o", graph, capture)
        made["memray 1.20"] = (
            f"file://{graph}",
            "document.querySelector('#chart svg, #chart canvas')",
            graph.stat().st_size,
        )
    return made


def steps_of(subject: str, browser: Any) -> Iterator[tuple[str, float]]:
    """Acts on an open page."""

    def timed(act: str) -> float:
        return float(browser.evaluate(TIMED.format(act=act)))

    def frames(*acts: str) -> float:
        """Of each step the slowest of its frames."""
        every = [
            max(float(browser.evaluate(FRAME.format(act=act.replace("STEP", str(n))))) for act in acts)
            for n in range(STEPS)
        ]
        return statistics.quantiles(every, n=20)[-1]

    if subject == "tare":
        descend = "() => { const box = tare.graph.find(tare.state.at); const below = tare.graph.below(box);"
        descend += " tare.zoom(below.length ? below[Math.min(window.turn++, below.length - 1)] : tare.graph.root); }"
        browser.evaluate("window.turn = 0")
        yield "zoom", frames(descend, "() => tare.later.settle()")
        browser.evaluate("tare.change({ at: '' })")
        browser.evaluate("document.querySelector('.flame canvas').scrollIntoView({ block: 'center' })")
        point = "{ clientX: bounds.x + (STEP * 37) % bounds.width, clientY: bounds.y + (STEP * 23) % 160 }"
        move = f"() => {{ const bounds = it.getBoundingClientRect(); it.dispatchEvent(new MouseEvent('mousemove', {point})); }}"
        yield "hover", frames(f"((it) => {move})(document.querySelector('.flame canvas'))")
        pan = "const reach = it.scrollHeight - it.clientHeight; it.scrollTop = (STEP * 100) % Math.max(reach, 1);"
        yield (
            "pan",
            frames(f"((it) => () => {{ {pan} it.dispatchEvent(new Event('scroll')); }})(tare.views.flame.scroller)"),
        )
        yield "search", timed("() => tare.change({ q: '[a-f]9' })")
        browser.evaluate("tare.change({ q: '', at: '' })")
        yield "brush", timed("() => tare.choose(40, 120)")
        browser.evaluate("tare.choose(null, null)")
        yield "bottom-up", timed("() => tare.change({ mode: 'up' })")
    elif subject.startswith("async"):
        browser.evaluate("window.prompt = () => '[a-f]9'")
        yield "search", timed("() => document.getElementById('search').click()")
        yield "bottom-up", timed("() => document.getElementById('reverse').click()")


@contextmanager
def opened(name: str) -> Iterator[Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # a killed browser still writes
        if name == "Chromium":
            with Browser(Path(profile)) as browser:
                browser.look(width=1200, height=900)
                yield browser
        else:
            with Firefox(Path(profile)) as browser:
                yield browser


def visit(browser: Any, address: str, ready: str) -> float:
    """Milliseconds from the start of the navigation until the graph is drawn, by the page's own clock."""
    if isinstance(browser, Browser):
        browser.count_cpu()
    browser.show(address, ready)
    marked = browser.evaluate("(performance.getEntriesByName('tare-interactive')[0] || {startTime: null}).startTime")
    return float(marked if marked is not None else browser.evaluate("performance.now()"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--alone", action="store_true", help="without the peers' pages: they take most of the time")
    options = parser.parse_args()
    results = Results("page-alone" if options.alone else "page")
    browsers = [name for name, found in (("Chromium", CHROMIUM), ("Firefox", FIREFOX)) if found]
    parts = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for case in [options.case] if options.case else CASES:
            trace = folder / f"{case}.tare"
            record(case, trace)
            made = pages(case, trace, folder, results, runs=options.runs, with_peers=not options.alone)
            for name in browsers:
                for _ in range(options.runs):
                    for subject, (address, ready, size) in made.items():
                        try:
                            with opened(name) as browser:
                                key = f"{case}, {name}"
                                results.add(key, subject, "bytes", size)
                                results.add(key, subject, "ready", visit(browser, address, ready), "ms")
                                if isinstance(browser, Browser):
                                    results.add(key, subject, "cpu", browser.cpu_ms(), "ms")
                                paint = browser.evaluate(PAINT)
                                if paint is not None:
                                    results.add(key, subject, "paint", paint, "ms")
                                for metric, milliseconds in steps_of(subject, browser):
                                    results.add(key, subject, metric, milliseconds, "ms")
                        except AssertionError as error:
                            results.remark(f"{subject}, {case}, {name}: {str(error).splitlines()[0][:100]}")
                parts.append(section(results, f"{case}, {name}", list(made)))
            report, making = (results.median(case, "tare", metric) or 0.0 for metric in ("report", "making"))
            parts.append(f"CPU time of the page of {case}: {making:,.0f} ms; of the default report {report:,.0f} ms.\n")
            # After each case: the last one takes longest, and what was measured before it is kept if it fails.
            results.write_json()
            results.write_section("\n".join(parts))


def section(results: Results, key: str, subjects: list[str]) -> str:
    rows = []
    for subject in subjects:
        cells = [results.median(key, subject, metric) for metric in METRICS]
        rows.append(
            [subject, *("-" if each is None else f"{each:,.0f}" if each >= 10 else f"{each:.1f}" for each in cells)]
        )
    heads = ["page", "bytes", *(f"{metric}, ms" for metric in METRICS[1:])]
    return f"### {key}\n\n{table(heads, rows)}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--generate"]:
        generate(Path(sys.argv[2]))
    else:
        main()
