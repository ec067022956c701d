"""Sizes and lifetimes of blocks as bars of text: a screen reader reads the counts, and the style sheet draws the bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.html.markup import Markup, element, joined
from tare.text.units import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.site_facts import Bars, Histograms

_BAR = 8  # characters of the longest bar


def bars_of(found: Histograms) -> Markup:
    """Sizes and lifetimes as bars: a screen reader reads the counts."""
    parts = (
        element("figure", element("figcaption", title), element("pre", *_bars(bars)))
        for title, bars in (
            ("Sizes (usable bytes)", found.sizes),
            ("Freed (allocations later)", found.lifetimes),
        )
    )
    return element("div", *parts, class_="bars")


def _bars(bars: Bars) -> Iterator[Markup]:
    """Without those of no block."""
    bars = [bar for bar in bars if bar[1]]
    most = max([count for _, count in bars] + [1.0])
    width, count_width = (
        max(map(len, texts))
        for texts in ([label for label, _ in bars] or [""], [exact(count) for _, count in bars] or [""])
    )
    for label, count in bars:
        bar = element("b", class_=f"b{round(_BAR * count / most)}")
        yield joined(f"{label:>{width}} {exact(count):>{count_width}} ", bar, Markup("\n"))
