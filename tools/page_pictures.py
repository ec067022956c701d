"""Takes the pictures of pages in docs/pictures: light, dark and narrow, of the demo's recording, by Debian's Chromium.

Usage: tools/page_pictures.py PAGE DIFFERENCE, two pages of `tare report --html` and `tare diff --html`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO / "tests/end_to_end"))

from browser import Browser  # type: ignore[import-not-found]  # noqa: E402

_TO = REPO / "docs/pictures"
# Name, page, fragment, width, height, dark, the section at the top.
_PICTURES = (
    ("page", 0, "", 1200, 800, False, "balance"),
    ("flame-graph", 0, "#mode=up", 1200, 680, False, "views"),
    ("range", 0, "#measure=time.gross&life=kept&from=60&to=120&mode=up", 1200, 900, False, "time"),
    ("treemap-dark", 0, "#view=treemap", 1200, 800, True, "views"),
    ("narrow", 0, "", 390, 800, False, "findings"),
    ("difference", 1, "", 1200, 760, False, "views"),
)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        sys.exit(__doc__)
    pages = [Path(each).resolve() for each in arguments]
    _TO.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        for name, page, fragment, width, height, dark, section in _PICTURES:
            browser.look(width=width, height=height, dark=dark)
            browser.open(pages[page], fragment)
            if section != "balance":
                browser.evaluate("document.querySelector('nav')?.remove()")  # it sticks to the top
                browser.evaluate(f"document.getElementById('{section}').scrollIntoView()")
            browser.screenshot(_TO / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
