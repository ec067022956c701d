"""Parts that the pages of a store have in common: sections, tables, sites with their stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.html.markup import Markup, element, headings, joined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Site(Protocol):
        @property
        def function(self) -> str: ...
        @property
        def place(self) -> str: ...
        @property
        def stack(self) -> str: ...


def section(title: str, *content: object) -> Markup:
    return element("section", element("h2", title), *content)


def wide_table(titles: Sequence[str], rows: Sequence[Markup], look: str = "numbers") -> Markup:
    return element("div", element("table", headings(*titles), element("tbody", *rows), class_=look), class_="wide")


def site_cell(site: Site | None) -> Markup:
    """The name, which opens the stack."""
    if site is None:
        return element("code", "?")
    name = joined(element("code", site.function), " ", element("span", site.place, class_="place"))
    frames = [element("li", element("code", frame)) for frame in site.stack.split("\n") if frame]
    return element("details", element("summary", name), element("ol", *frames, class_="stack"))
