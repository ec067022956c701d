"""The heap over time as inline SVG: requested bytes and their overhead, mapped memory, the exact peak, the rate of allocation."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.account import program_rss_bytes, rss_readings
from tare.html.markup import EMPTY, Markup, element, joined
from tare.text.units import duration, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tare.analysis.recording import Recording

_WIDTH, _HEIGHT = 1000, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 22, 64
_RATE_TOP, _RATE_BOTTOM = _HEIGHT - 56, _HEIGHT - 24  # the strip of allocations
_MOST_POINTS = 250  # four pixels each
_LEAST_RATIO = 0.01  # two pixels of mappings
_MOST_RATIO = 3.0  # RSS and mappings are drawn where they leave the heap a third of the height


class Point(NamedTuple):
    time_ns: int
    requested: int
    gross: int
    most: int  # greatest gross since the point before
    mapped: int
    allocations: int  # since the point before


def points(recording: Recording) -> list[Point]:
    recording.database.use("timeline")
    rows = [
        Point(*map(round, row))
        for row in recording.database.rows(
            "select time_ns, requested_bytes, gross_bytes, max_gross_bytes, mapped_bytes, alloc_events from timeline order by time_ns"
        )
    ]
    width = -(-len(rows) // _MOST_POINTS) or 1
    return [_merged(rows[at : at + width]) for at in range(0, len(rows), width)]


def _merged(rows: Sequence[Point]) -> Point:
    return rows[-1]._replace(
        most=max(row.most for row in rows),
        mapped=max(row.mapped for row in rows),
        allocations=sum(row.allocations for row in rows),
    )


def steps(top: float, *, binary: bool) -> list[float]:
    """Three to six round values up to `top`: of bytes in KiB, MiB and so on, of seconds in tens."""
    unit = 1024.0 ** max(0, int(math.log(top, 1024))) if binary else 1.0
    rough = top / unit / 4
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough) * unit
    return [number * step for number in range(int(top / step) + 1)]


class Scale:
    """Pixels of times and bytes."""

    def __init__(self, end_ns: float, top_bytes: float) -> None:
        self.end_ns = end_ns
        self.top_bytes = top_bytes

    def x(self, time_ns: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * time_ns / self.end_ns, 1)

    def y(self, size: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * size / self.top_bytes, 1)

    def line(self, corners: Iterable[tuple[float, float]]) -> str:
        found = [f"{self.x(time):g} {self.y(size):g}" for time, size in corners]
        places = [place for before, place in pairwise(found) if place != before]
        return f"M{found[0]}L{' '.join(places or found)}"


class Course:
    """The points of one recording with its peak and end."""

    def __init__(self, recording: Recording) -> None:
        self.points = points(recording)
        process = recording.process
        self.peak_ns = process["peak_time_ns"] or 0
        self.peak = float(recording.moments["peak"].gross_bytes)
        self.end = recording.moments["end"].gross_bytes
        self.end_ns = int(max(process["duration_ns"] or 0, self.points[-1].time_ns if self.points else 0))
        self.peak_rss = program_rss_bytes(process)
        self.readings = rss_readings(recording)
        self.can_be_drawn = bool(len(self.points) > 1 and self.peak and self.end_ns)

    def gross(self) -> Iterable[tuple[float, float]]:
        """Where an interval has the peak in its middle, the curve rises to it and falls to the interval's end."""
        yield 0, 0
        before = before_ns = 0
        for point in self.points:
            if point.most > max(point.gross, before):
                holds_peak = before_ns <= self.peak_ns <= point.time_ns and point.most >= self.peak - 1
                yield (self.peak_ns if holds_peak else point.time_ns), point.most
            yield point.time_ns, point.gross
            before, before_ns = point.gross, point.time_ns

    def requested(self) -> Iterable[tuple[float, float]]:
        yield 0, 0
        for point in self.points:
            yield point.time_ns, point.requested


def chart(recording: Recording) -> Markup:
    course = Course(recording)
    if not course.can_be_drawn:
        return EMPTY
    mapped = max(point.mapped for point in course.points)
    mapped = mapped if mapped >= _LEAST_RATIO * course.peak else 0
    resident = max([course.peak_rss, *(size for _, size in course.readings)])
    others = [size for size in (mapped, resident) if size <= _MOST_RATIO * course.peak]
    scale = Scale(course.end_ns, max([course.peak, *others]))
    shown_mapped = mapped if mapped in others else 0
    shown_rss = course.peak_rss if resident in others else 0
    read = course.readings if resident in others else []
    words = (
        f"Peak {human_bytes(course.peak)} gross at {duration(course.peak_ns)}; {human_bytes(course.end)} at the end."
    )
    base = f"L{scale.x(course.end_ns):g} {scale.y(0):g}L{scale.x(0):g} {scale.y(0):g}Z"
    gross, requested = scale.line(course.gross()), scale.line(course.requested())
    drawn = element(
        "svg",
        element("title", f"Gross bytes of live blocks over {duration(course.end_ns)}. {words}"),
        _grid(scale),
        element("defs", element("path", d=gross + base, id="gross")),
        element("use", href="#gross", class_="area over"),
        element("use", href="#gross", class_="hatched"),
        element("path", d=requested + base, class_="area"),
        element("use", href="#gross", class_="curve"),
        element("path", d=scale.line((p.time_ns, p.mapped) for p in course.points), class_="curve mapped")
        if shown_mapped
        else "",
        _level(scale, shown_rss, "peak RSS") if shown_rss else "",
        *(_reading(scale, time, size) for time, size in read),
        _rate(scale, course.points),
        _peak(scale, course, above=16 if read else 10),  # above the marks of readings
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="timeline",
        data_left=_LEFT,
        data_right=_WIDTH - _RIGHT,
        data_bottom=_RATE_BOTTOM,
        data_end=course.end_ns,
    )
    keys = [("net", "requested bytes"), ("tare-0", "slop and headers")]
    keys += [("mapped", f"mapped by the program, at most {human_bytes(mapped)}")] if mapped else []
    keys += [("reading", "RSS at a reading")] if read else []
    return joined(drawn, _keys(keys), element("p", _rss_words(course, is_drawn=bool(shown_rss)), class_="note"))


def _rss_words(course: Course, *, is_drawn: bool) -> str:
    """All that is known of the RSS: it is read a few times, and the kernel counts its peak without a time."""
    words = [f"{human_bytes(size)} at {duration(time)}" for time, size in course.readings]
    if course.peak_rss:
        words.append(f"at most {human_bytes(course.peak_rss)}, at an unknown time")
    if not words:
        return "The RSS isn't known."
    drawn = "" if is_drawn else " It isn't drawn, because it is more than three times the heap."
    return f"RSS without the recorder's: {', '.join(words)}.{drawn}"


def _keys(keys: Iterable[tuple[str, str]]) -> Markup:
    shown = (
        element("span", element("span", class_=f"key {look}", aria_hidden="true"), text, class_="legend")
        for look, text in keys
    )
    return element("p", *shown, class_="note keys")


def _grid(scale: Scale) -> Markup:
    sizes = (
        joined(
            element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=scale.y(value), y2=scale.y(value), class_="grid"),
            element("text", human_bytes(value), x=_LEFT - 8, y=scale.y(value) + 4, text_anchor="end", class_="y"),
        )
        for value in steps(scale.top_bytes, binary=True)
    )
    times = (
        element(
            "text", duration(value * 1e9) if value else "0", x=scale.x(value * 1e9), y=_HEIGHT - 6, text_anchor="middle"
        )
        for value in steps(scale.end_ns / 1e9, binary=False)
        if scale.x(value * 1e9) < _WIDTH - 40
    )
    return joined(*sizes, *times)


def _level(scale: Scale, size: float, name: str) -> Markup:
    return joined(
        element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=scale.y(size), y2=scale.y(size), class_="curve mapped"),
        element("text", f"{name} {human_bytes(size)}", x=_LEFT + 6, y=scale.y(size) - 5, class_="level"),
    )


def _reading(scale: Scale, time_ns: int, size: int) -> Markup:
    words = f"RSS {human_bytes(size)} at {duration(time_ns)}"
    place = f"M{scale.x(time_ns):g} {scale.y(size) - 5:g}l5 5l-5 5l-5-5z"
    return element("path", element("title", words), d=place, class_="reading")


def _bars(scale: Scale, bars: Sequence[tuple[int, int, float]]) -> str:
    """Of times and shares of the strip's height; bars side by side are one outline. Those below a quarter of a pixel are left out."""
    high = _RATE_BOTTOM - _RATE_TOP
    path, at = "", -1.0
    for begin_ns, end_ns, share in bars:
        if share * high < 0.25:
            continue
        begin = scale.x(begin_ns)
        if begin != at:
            path += f"{'' if at < 0 else f'V{_RATE_BOTTOM}'}M{begin:g} {_RATE_BOTTOM}"
        at = max(scale.x(end_ns), round(begin + 0.5, 1))
        path += f"V{_RATE_BOTTOM - round(high * share, 1):g}H{at:g}"
    return f"{path}V{_RATE_BOTTOM}" if path else ""


def _rate(scale: Scale, found: Sequence[Point]) -> Markup:
    """Allocations a second as a strip below the heap, the highest bar as high as the strip."""
    rates, before = [], 0
    for point in found:
        rates.append((before, point.time_ns, point.allocations / max(point.time_ns - before, 1)))
        before = point.time_ns
    most = max(rate for _, _, rate in rates)
    if not most:
        return EMPTY
    path = _bars(scale, [(begin, end, rate / most) for begin, end, rate in rates])
    label = f"{most * 1e9:,.0f} allocations a second at most"
    return joined(
        element("path", element("title", label), d=path, class_="rate"),
        element("text", "allocations", x=_LEFT - 8, y=_RATE_BOTTOM - 10, text_anchor="end", class_="rates"),
    )


def _peak(scale: Scale, course: Course, above: int) -> Markup:
    x, y = scale.x(course.peak_ns), scale.y(course.peak)
    left = x > _WIDTH / 2
    return joined(
        element("line", x1=x, x2=x, y1=y - 6, y2=scale.y(0), class_="mark"),
        element("circle", cx=x, cy=y, r=4, class_="dot"),
        element(
            "text",
            f"peak {human_bytes(course.peak)} at {duration(course.peak_ns)}",
            x=x + (-8 if left else 8),
            y=y - above,
            text_anchor="end" if left else "start",
            class_="strong",
        ),
    )


def both(before: Recording, after: Recording) -> Markup:
    """Two curves over each other, on one scale."""
    courses = [Course(before), Course(after)]
    if not all(course.can_be_drawn for course in courses):
        return EMPTY
    scale = Scale(max(each.end_ns for each in courses), max(each.peak for each in courses))
    names = ("before", "after")
    words = "; ".join(
        f"{name}: peak {human_bytes(each.peak)} at {duration(each.peak_ns)}, {human_bytes(each.end)} at the end"
        for name, each in zip(names, courses, strict=True)
    )
    drawn = element(
        "svg",
        element("title", f"Gross bytes of live blocks of both recordings. {words}."),
        _grid(scale),
        *(
            joined(
                element("path", d=scale.line(each.gross()), class_=f"curve {name}"),
                element("circle", cx=scale.x(each.peak_ns), cy=scale.y(each.peak), r=4, class_=f"dot {name}"),
            )
            for name, each in zip(names, courses, strict=True)
        ),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="timeline",
    )
    return joined(
        drawn,
        _keys([("line-before", "before (dashed)"), ("line-after", "after")]),
        element("p", f"{words}.", class_="note"),
    )
