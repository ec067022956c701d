"""The heap over time as inline SVG: the greatest gross of each interval, its exact peak, and the end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tare.html.markup import EMPTY, Markup, element, joined
from tare.text.units import duration, human_bytes

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

_WIDTH, _HEIGHT = 1000, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 18, 24


def points(recording: Recording) -> list[tuple[int, int, int]]:
    """Time, gross then, and greatest gross since the point before."""
    recording.database.use("timeline")
    return [
        (int(time), round(gross), round(most))
        for time, gross, most in recording.database.rows(
            "select time_ns, gross_bytes, max_gross_bytes from timeline order by time_ns"
        )
    ]


def steps(top: float, *, binary: bool) -> list[float]:
    """Three to six round values up to `top`: of bytes in KiB, MiB and so on, of seconds in tens."""
    unit = 1024.0 ** max(0, int(math.log(top, 1024))) if binary else 1.0
    rough = top / unit / 4
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough) * unit
    return [number * step for number in range(int(top / step) + 1)]


def chart(recording: Recording, most_bytes: float = 0, most_ns: int = 0) -> Markup:
    """`most_bytes` and `most_ns`: the scales, where several charts share them."""
    found = points(recording)
    process = recording.process
    peak_ns, peak = process["peak_time_ns"] or 0, float(recording.moments["peak"].gross_bytes)
    end_ns = int(max(process["duration_ns"] or 0, found[-1][0] if found else 0))
    if len(found) < 2 or not peak or not end_ns:
        return EMPTY
    top, right_ns = most_bytes or peak, most_ns or end_ns

    def x(time_ns: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * time_ns / right_ns, 1)

    def y(size: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * size / top, 1)

    path = f"M{x(0)} {y(0)}"
    before = 0
    # Where an interval has the peak in its middle, the curve rises to it and falls to the interval's end.
    for time, gross, most in found:
        if most > max(gross, before):
            path += f"L{x(peak_ns if before <= peak_ns <= time and most >= peak - 1 else time)} {y(most)}"
        path += f"L{x(time)} {y(gross)}"
        before = time
    lines = [
        joined(
            element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y(value), y2=y(value), class_="grid"),
            element("text", human_bytes(value), x=_LEFT - 8, y=y(value) + 4, text_anchor="end"),
        )
        for value in steps(top, binary=True)
    ]
    times = [
        element("text", duration(value * 1e9) if value else "0", x=x(value * 1e9), y=_HEIGHT - 6, text_anchor="middle")
        for value in steps(right_ns / 1e9, binary=False)
        if x(value * 1e9) < _WIDTH - 40
    ]
    words = f"Peak {human_bytes(peak)} gross at {duration(peak_ns)}; {human_bytes(recording.moments['end'].gross_bytes)} at the end."
    left = x(peak_ns) > _WIDTH / 2
    return element(
        "svg",
        element("title", f"Gross bytes of live blocks over {duration(end_ns)}. {words}"),
        *lines,
        *times,
        element("path", d=f"{path}L{x(end_ns)} {y(0)}Z", class_="area"),
        element("path", d=path, class_="curve"),
        element("line", x1=x(peak_ns), x2=x(peak_ns), y1=y(peak) - 6, y2=y(0), class_="mark"),
        element("circle", cx=x(peak_ns), cy=y(peak), r=4, class_="dot"),
        element(
            "text",
            f"peak {human_bytes(peak)} at {duration(peak_ns)}",
            x=x(peak_ns) + (-8 if left else 8),
            y=y(peak) - 10,
            text_anchor="end" if left else "start",
            class_="strong",
        ),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="timeline",
    )
