"""Memory of examples/interpreter over generated page loads, with links of 4 bytes and of 8, as `tare fleet` reports it.

A page is HTML-like text with a random number of elements: median 900, one page in a hundred over 7,000, as in guide/17-document. A process loads one
page. Both builds load the same pages. Each load is recorded, and both groups go into a store, with the page as the machine: so that `tare fleet diff`
compares each page with itself.

`make bench-page_loads`, or `BENCH_ARGS="--pages 40"`; writes its part of bench/RESULTS.md only with 400 pages.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.measure import BUILD, ROOT
from harness.results import Results, table

PAGES = 400
LIBRARY = ROOT / "bench/workloads/page.sl"
BUILDS = {"8 bytes": "interpreter-uncompressed", "4 bytes": "interpreter"}  # size of a link: target
BEFORE, AFTER = BUILDS
TAGS = ("div", "span", "p", "a", "li", "ul", "td", "tr", "img", "button")
WORDS = ("heap", "page", "memory", "value", "pointer", "cage", "object", "member", "offset", "table", "field", "trace")
DEEPEST = 30


def page(seed: int) -> str:
    """A script that loads a page."""
    generator = random.Random(seed)
    lines, depth = [], 0
    for number in range(max(10, round(generator.lognormvariate(6.8, 0.9)))):
        words = ["open", generator.choice(TAGS)]
        if generator.random() < 0.6:
            words.append(f"class={generator.choice(WORDS)}-{generator.randrange(40)}")
        if generator.random() < 0.15:
            words.append(f"id=e{number}")
        if generator.random() < 0.1:
            words.append(f"onclick={number}")
        lines.append(" ".join(words))
        depth += 1
        if generator.random() < 0.5:
            lines.append("text " + " ".join(generator.choices(WORDS, k=generator.randint(1, 12))))
        while depth and (depth == DEEPEST or generator.random() < 0.5):
            lines.append("close")
            depth -= 1
    source = "\\n".join(lines)
    return f'{LIBRARY.read_text()}let document = load_page("{source}");\nprint(len(document.root.children));\n'


def run(*command: str | Path, folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def fill(tare: str, pages: int, folder: Path) -> Path:
    """A store with one recording of each page and build."""
    store = folder / "store"
    for build, target in BUILDS.items():
        (folder / target).mkdir()
        program = Path(shutil.copy(BUILD.parent / "examples/interpreter" / target, folder / target / "interpreter"))
        for number in range(pages):
            script, trace = folder / "page.sl", folder / target / f"{number}.tare"
            script.write_text(page(number))
            run(tare, "run", "-q", "-o", trace, "--", program, script, folder=folder)
            run(tare, "fleet", "add", store, trace, "--build", build, "--machine", f"page-{number}", folder=folder)
        print(f"{time.strftime('%T')} {build}: {pages} pages", file=sys.stderr, flush=True)
    return store


def measure(tare: str, store: Path, results: Results) -> dict[str, Any]:
    """The quantiles of each build and their change, as the commands print them."""
    command = (tare, "fleet", "report", store, "--json")
    report = json.loads(run(*command, folder=store))["programs"][0]
    groups = ("--before", f"build={BEFORE}", "--after", f"build={AFTER}")
    change = json.loads(run(tare, "fleet", "diff", store, *groups, "--json", folder=store))
    for build in report["builds"]:
        for name, quantile in build["gross_bytes"].items():
            if quantile:
                results.add(name, build["build"], "bytes", quantile["value"])
    return {
        "builds": {each["build"]: each["gross_bytes"] for each in report["builds"]},
        "change": change["totals"]["gross"],
    }


def in_mib(figure: dict[str, float] | None, name: str = "value") -> str:
    """With the interval. A quantile without one isn't shown."""
    if figure is None:
        return "-"
    value, low, high = (figure[each] / 2**20 for each in (name, "low", "high"))
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def body(measured: dict[str, Any], pages: int) -> str:
    rows = []
    for quantile in ("P50", "P90", "P99"):
        change = measured["change"].get(quantile)
        share = f"{change['change'] / change['before']:+.1%}" if change else "-"
        both = (in_mib(measured["builds"][build][quantile]) for build in BUILDS)
        rows.append([quantile, *both, in_mib(change, "change"), share])
    return (
        f"Peak gross of `examples/interpreter` in MiB, over {pages} generated page loads, with links of 8 and of 4 bytes: everything that the process"
        f" allocates, dead objects before a collection included. Quantiles and 95 % intervals are those of `tare fleet report`, the change is that"
        f" of `tare fleet diff`, with each page as a machine that both builds have.\n\n"
        + table(["quantile", f"{BEFORE} [95 %]", f"{AFTER} [95 %]", "change [95 %]", "change"], rows)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    options = parser.parse_args()
    results = Results("page_loads")
    with tempfile.TemporaryDirectory() as name:
        measured = measure(options.tare, fill(options.tare, options.pages, Path(name)), results)
    results.publish(body(measured, options.pages), whole=options.pages == PAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
