"""Takes the pictures of pages in docs/pictures: light, dark and narrow, by Debian's Chromium.

Usage: tools/page_pictures.py, without arguments. It records `make demo`'s program, the same with places as numbers instead of tuples, and a
C++ program, and writes their pages in a folder of its own. Run it on a machine that does nothing else: the pages have times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO / "tests/end_to_end"))

from browser import Browser  # type: ignore[import-not-found]  # noqa: E402

_TARE = REPO / ".venv/bin/tare"
_PYTHON = "/usr/bin/python3.11"
_TO = REPO / "docs/pictures"
# Name, page, fragment, width, height, dark, the section at the top.
_PICTURES = (
    ("page", "concordance", "", 1200, 800, False, "balance"),
    ("flame-graph", "concordance", "#mode=up", 1200, 680, False, "views"),
    ("range", "concordance", "#measure=time.gross&life=kept&from=60&to=120&mode=up", 1200, 900, False, "time"),
    ("treemap-dark", "concordance", "#view=treemap", 1200, 800, True, "views"),
    ("narrow", "concordance", "", 390, 800, False, "time"),
    ("source-lines", "concordance", "", 1200, 1120, False, "lines"),
    ("layout", "orders", "", 1200, 560, False, "findings"),
    ("difference", "difference", "", 1200, 760, False, "views"),
)


def record(folder: Path, name: str, *command: str | Path) -> None:
    subprocess.run(
        [_TARE, "run", "-q", "-o", folder / f"{name}.tare", "--", *command],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "PYTHONMALLOC": "malloc"},
    )


def make_pages(folder: Path) -> None:
    text = (REPO / "demo/concordance.py").read_text()
    changed = text.replace("append((title, page, position))", "append(page << 16 | position)")
    changed = changed.replace(
        'f"{title} p.{page}:{position}" for title, page, position in', 'f"{place:x}" for place in'
    )
    assert changed.count("place:x") == changed.count("page << 16") == 1
    program = folder / "demo/concordance.py"
    program.parent.mkdir()
    for name, source in (("after", changed), ("concordance", text)):
        program.write_text(source)
        record(folder, name, _PYTHON, "demo/concordance.py")
    orders = REPO / "tests/end_to_end/programs/orders.cc"
    subprocess.run(["g++", "-std=c++20", "-g", "-O1", orders, "-o", folder / "orders"], check=True)
    record(folder, "orders", "./orders")
    for name in ("concordance", "orders"):
        page = ["report", f"{name}.tare", "--html", "--sources", "-o", f"{name}.html"]
        subprocess.run([_TARE, *page], check=True, cwd=folder)
    page = ["diff", "concordance.tare", "after.tare", "--html", "-o", "difference.html"]
    subprocess.run([_TARE, *page], check=True, cwd=folder)


def main(arguments: list[str]) -> int:
    if arguments:
        sys.exit(__doc__)
    _TO.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tare-") as made, tempfile.TemporaryDirectory() as profile:
        folder = Path(made)
        make_pages(folder)
        with Browser(Path(profile)) as browser:
            for name, page, fragment, width, height, dark, section in _PICTURES:
                browser.look(width=width, height=height, dark=dark)
                browser.open(folder / f"{page}.html", fragment)
                if section != "balance":
                    browser.evaluate("document.querySelector('nav')?.remove()")  # it sticks to the top
                    browser.evaluate(f"document.getElementById('{section}').scrollIntoView()")
                browser.screenshot(_TO / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
