"""The layout of a type as a picture, to scale: its fields, the holes between them, and the order that has fewer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.html.markup import EMPTY, Markup, element, joined
from tare.naming.cpp_names import shorten
from tare.text.units import exact, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.recording import Recording
    from tare.types.layouts import Field
    from tare.types.site_layouts import SiteLayouts

_WIDTH, _HIGH, _LABEL = 720, 26, 18  # of a bar and the words above it
_LETTER = 7.0  # width of one
_CACHE_LINE = 64


class Part(NamedTuple):
    name: str  # empty: nothing lies there
    words: str
    begin_bits: int
    size_bits: int


class TypePictures:
    """Of the types that padding findings speak of. Types are read again only if there is such a finding."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._layouts: SiteLayouts | None = None

    def of_line(self, location_id: int | None) -> Markup:
        """The type that wastes most at the line that names a site: the one that the finding's remedy names."""
        make = getattr(self._recording.source, "site_layouts", None)  # recordings by hand have no types
        if make is None or location_id is None:
            return EMPTY
        self._recording.database.use("type_sites", "site_sizes", "stack_sites", "sites")
        found = self._recording.database.rows(
            "select t.type, t.size_bytes, t.reordered_bytes from type_sites t join site_sizes z on z.size_id = t.size_id"
            " join stack_sites x on x.stack_id = t.stack_id join sites s on s.site_id = x.site_id"
            f" where s.site_location_id = {location_id} and t.saved_bytes > 0"
            " order by t.saved_bytes * (z.peak_blocks + z.total_blocks / 1e6) desc limit 1"
        )
        if not found:
            return EMPTY
        self._layouts = self._layouts or make(self._recording.database)
        name, size, reordered = found[0]
        drawn = next(
            (
                picture(name, size, reordered, *self._layouts.fields_and_order(each.typed.type))
                for each in self._layouts.typed_kinds()
                if each.typed.type[1] == name and each.typed.type.size_bytes == size
            ),
            EMPTY,
        )
        return drawn


def picture(name: str, size_bytes: int, reordered_bytes: int, fields: Sequence[Field], order: Sequence[int]) -> Markup:
    now = parts(fields, size_bytes)
    then = _reordered(fields, order, reordered_bytes)
    rows = [(f"as it is: {plural(size_bytes, 'byte')}, {_holes(now)}", now)]
    if then:
        rows.append((f"reordered: {plural(reordered_bytes, 'byte')}, {_holes(then)}", then))
    high = len(rows) * (_LABEL + _HIGH + 14)
    drawn = element(
        "svg",
        element("title", f"Layout of {shorten(name)}. {'; '.join(words for words, _ in rows)}."),
        *(
            _bar(words, found, _WIDTH / (8 * size_bytes), number * (_LABEL + _HIGH + 14))
            for number, (words, found) in enumerate(rows)
        ),
        viewBox=f"0 0 {_WIDTH} {high}",
        role="img",
        class_="layout",
    )
    return element("div", drawn, class_="wide")


def parts(fields: Sequence[Field], size_bytes: int) -> list[Part]:
    """Fields by offset with the holes between them; of overlapping ones (a union's) the first."""
    found, at = [], 0
    for field in sorted(fields, key=lambda each: (each.offset_bits, -each.size_bits)):
        if field.kind == "virtual base" or field.size_bits <= 0 or field.offset_bits < at:
            continue
        if field.offset_bits > at:
            found.append(_hole(at, field.offset_bits - at))
        words = f"{shorten(field.type)} {field.name}".strip()
        found.append(Part(field.name or shorten(field.type), words, field.offset_bits, field.size_bits))
        at = field.offset_bits + field.size_bits
    if at < 8 * size_bytes:
        found.append(_hole(at, 8 * size_bytes - at))
    return found


def _hole(begin: int, size: int) -> Part:
    return Part("", "hole", begin, size)


def _holes(found: Sequence[Part]) -> str:
    empty = sum(part.size_bits for part in found if not part.name)
    return f"{exact(empty / 8)} of them holes" if empty else "no hole"


def _reordered(fields: Sequence[Field], order: Sequence[int], size_bytes: int) -> list[Part]:
    """Empty where the places of fields can't be known from their sizes: of bit-fields and bases."""
    if not order or any(field.kind != "member" or field.size_bits % 8 for field in fields):
        return []
    placed, at = [], 0
    for number in order:
        field = fields[number]
        align = 8 * max(field.align_bytes, 1)
        at = -(-at // align) * align
        placed.append(field._replace(offset_bits=at))
        at += field.size_bits
    return parts(placed, size_bytes) if at <= 8 * size_bytes else []


def _bar(words: str, found: Sequence[Part], scale: float, top: float) -> Markup:
    boxes = joined(*_boxes(found, scale, top + _LABEL))
    return joined(element("text", words, x=0, y=top + 13, class_="strong"), boxes, _ticks(found, scale, top + _LABEL))


def _boxes(found: Sequence[Part], scale: float, top: float) -> Iterator[Markup]:
    for part in found:
        left, width = round(part.begin_bits * scale, 1), round(max(part.size_bits * scale - 1, 0.5), 1)
        size = {"x": left, "y": top, "width": width, "height": _HIGH}
        extent = plural(part.size_bits // 8, "byte") if part.size_bits % 8 == 0 else plural(part.size_bits, "bit")
        title = element("title", f"{part.words}: {extent} at {exact(part.begin_bits / 8)}")
        if part.name:
            yield element("rect", title, class_="net", **size)
        else:
            yield element("rect", title, class_="hole", **size)
            yield element("rect", fill="url(#hatch)", pointer_events="none", **size)
        letters = int((width - 6) / _LETTER)
        label = part.name or "hole"
        if letters >= min(3, len(label)):
            shown = label if len(label) <= letters else f"{label[: letters - 1]}…"
            yield element("text", shown, x=round(left + 4, 1), y=top + 17, class_="field" if part.name else "gap")


def _ticks(found: Sequence[Part], scale: float, top: float) -> Markup:
    """Where a cache line begins."""
    size = (found[-1].begin_bits + found[-1].size_bits) // 8
    return joined(
        *(
            element(
                "line", element("title", f"byte {at}: the next cache line"), x1=x, x2=x, y1=top - 3, y2=top + _HIGH + 5
            )
            for at in range(_CACHE_LINE, size, _CACHE_LINE)
            for x in (round(8 * at * scale, 1),)
        )
    )
