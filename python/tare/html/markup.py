"""HTML made of elements: every text is escaped here, and nowhere else."""

from __future__ import annotations

import html

from tare.text.printable import printable


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


EMPTY = Markup("")

_NO_CONTENT = ("meta", "br")
# HTML ends these where the next begins or their parent ends: a twentieth of a page would be their ends.
_NO_END = ("li", "td", "th", "tr", "thead", "tbody")


def escaped(text: object) -> Markup:
    """Any text of a program as HTML: controls, marks of direction and invalid bytes become visible."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(printable(str(text)), quote=True))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """`class_` is the attribute class, `aria_label` is aria-label; None leaves an attribute out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _NO_CONTENT:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*children)}" + ("" if name in _NO_END else f"</{name}>"))


def joined(*children: object) -> Markup:
    return Markup("".join(escaped(child) for child in children))


def headings(*titles: str) -> Markup:
    """The head of a table."""
    return element(
        "thead", element("tr", *(element("th", title, scope="col") if title else element("td") for title in titles))
    )
