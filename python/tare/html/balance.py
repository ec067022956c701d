"""gross = net + tare as a bar and a table, and the account of the peak RSS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.html.markup import EMPTY, Markup, element, joined
from tare.text.units import duration, exact, human_bytes, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.recording import Recording

_WIDTH, _HEIGHT = 1000, 30


def bar(parts: Sequence[tuple[str, float, str]], label: str) -> Markup:
    """Name, amount and class of each part; parts of a class `tare-N` are hatched, so that colour isn't the only sign."""
    whole = sum(amount for _, amount, _ in parts) or 1.0
    boxes, left = [], 0.0
    for name, amount, look in parts:
        width = _WIDTH * amount / whole
        words = f"{name} {human_bytes(amount)} ({percent(amount, whole)})"
        size = {"x": round(left, 2), "y": 0, "width": round(width, 2), "height": _HEIGHT}
        boxes.append(element("rect", element("title", words), class_=look, **size))
        if look.startswith("tare"):
            boxes.append(element("rect", fill="url(#hatch)", pointer_events="none", **size))
        left += width
    return element(
        "svg",
        element("title", label),
        *boxes,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        class_="bar",
    )


HATCH = Markup(
    '<svg width="0" height="0" aria-hidden="true" class="defs"><defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="7" class="hatch"></line></pattern></defs></svg>'
)


def _key(look: str) -> Markup:
    return element("span", class_=f"key {look}", aria_hidden="true")


def balance(recording: Recording) -> Markup:
    peak, end = recording.moments["peak"], recording.moments["end"]
    about = "~" if recording.sampled else ""
    totals = recording.ledger.tare_totals
    looks = {each.lens: f"tare-{number % 5}" for number, each in enumerate(totals)}
    parts = [("net", peak.net_bytes or 0.0, "net") if recording.has_tare else ("gross", peak.gross_bytes, "net")]
    parts += [(each.lens, each.bytes_peak, looks[each.lens]) for each in totals if each.bytes_peak]
    tare_share = percent(peak.tare_bytes or 0.0, peak.gross_bytes)

    def row(label: Markup, at_peak: float, at_end: float, look: str | None = None) -> Markup:
        cells = [element("th", label, scope="row")]
        for value, moment in ((at_peak, peak), (at_end, end)):
            cells.append(element("td", about + exact(value), title=human_bytes(value)))
            cells.append(element("td", percent(value, moment.gross_bytes), class_="share"))
        return element("tr", *cells, class_=look)

    rows = [row(joined(_key("net"), "net"), peak.net_bytes or 0.0, end.net_bytes or 0.0)] if recording.has_tare else []
    rows += [
        row(joined(_key(looks[each.lens]), "tare: ", each.lens), each.bytes_peak, each.bytes_end)
        for each in totals
        if each.bytes_peak or each.bytes_end
    ]
    if recording.has_tare:
        rows.append(row(joined("all tare"), peak.tare_bytes or 0.0, end.tare_bytes or 0.0, "sum"))
    rows.append(row(joined("gross"), peak.gross_bytes, end.gross_bytes, "sum"))
    peak_ns = recording.process["peak_time_ns"]
    when = "" if peak_ns is None else f" ({duration(peak_ns)})"
    sentence = f"At the peak{when} the heap has {about}{human_bytes(peak.gross_bytes)} gross. " + (
        f"Of these, {about}{human_bytes(peak.tare_bytes or 0.0)} ({tare_share}) are tare."
        if recording.has_tare
        else f"How much of them is tare isn't known: {recording.process['imported_from']} doesn't record it."
    )
    head = element(
        "tr",
        element("th", "bytes", scope="col"),
        element("th", "at the peak", scope="col", colspan=2),
        element("th", "at the end", scope="col", colspan=2),
    )
    return joined(
        element("p", sentence, class_="lead"),
        bar(parts, f"Gross at the peak by part. {sentence}"),
        element(
            "div", element("table", element("thead", head), element("tbody", *rows), class_="numbers"), class_="wide"
        ),
    )


def resident(recording: Recording) -> Markup:
    """The parts of the peak RSS; nothing where it is unknown."""
    found = recording.account
    if found is None:
        return EMPTY
    parts = [
        (part.name, float(part.bytes), f"part-{number % 6}") for number, part in enumerate(found.parts) if part.bytes
    ]
    if found.unexplained_bytes:
        parts.append(("unexplained", float(found.unexplained_bytes), "unexplained"))
    bounds = {part.name: part for part in found.parts if not part.is_exact}
    rows = [
        element(
            "tr",
            element("th", _key(look), name, scope="row"),
            element("td", exact(amount), title=human_bytes(amount)),
            element("td", percent(amount, found.peak_rss_bytes), class_="share"),
            element(
                "td",
                f"{human_bytes(bounds[name].least_bytes)} to {human_bytes(bounds[name].most_bytes)}"
                if name in bounds
                else "",
                class_="note",
            ),
        )
        for name, amount, look in parts
    ]
    words = (
        f"Peak RSS {human_bytes(found.peak_rss_bytes)}, without {human_bytes(found.recorder_bytes)} of the recorder."
    )
    head = element(
        "tr",
        element("th", "bytes", scope="col"),
        element("th", "at the peak RSS", scope="col", colspan=2),
        element("th", "bounds", scope="col"),
    )
    return element(
        "section",
        element("h2", "Resident memory"),
        element("p", words),
        bar(parts, words),
        element(
            "div", element("table", element("thead", head), element("tbody", *rows), class_="numbers"), class_="wide"
        ),
        id="resident",
    )
