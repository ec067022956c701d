"""A difference of two recordings as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.analysis.sampling_error import peak_error
from tare.reports.text_parts import nameless_files, wrapped
from tare.schema.missing import FACTS, words_of
from tare.text.terminal import shorten
from tare.text.units import change_share, exact, human_bytes, human_count, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.difference import Change
    from tare.text.terminal import Style

# The meaning of a lens's sums, by its unit; churn's are the bytes of blocks that died young.
_LENS_MEASURES = {
    "bytes": ("bytes_peak", "bytes_end"),
    "copied": ("bytes_total",),
    "calls": ("bytes_total",),
    "end": ("bytes_end",),
    "kept": ("bytes_peak", "bytes_end"),
    "pairs": ("bytes_peak", "bytes_total"),
}


def signed(value: float) -> str:
    return f"{round(value):+,}" if round(value) else "0"


def lines(change: Change, limit: int | None, style: Style, width: int) -> Iterator[str]:
    title = f"{change.before.title}, {change.before.path}  ->  {change.after.title}, {change.after.path}"
    for line in wrapped(title, width):
        yield style(line, "bold")
    notes = list(dict.fromkeys([*nameless_files(change.before), *nameless_files(change.after)]))
    notes.extend(_notes(change))
    for note in notes:
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    differences = any(round(a) != round(b) for measures in change.moments.values() for a, b in measures.values())
    if not differences and not change.sites:
        yield "(no change)"
        return
    if width >= _WIDE:
        yield f"{'(bytes, but for blocks)':<26}{'before':>18}{'after':>18}{'change':>18}"
    for moment, label in (("peak", "at the peak"), ("end", "at the end"), ("total", "in all")):
        for measure, (a, b) in change.moments[moment].items():
            if round(a) != round(b) or measure in ("gross_bytes", "net_bytes", "tare_bytes"):
                yield from _row(f"{label}: {measure.replace('_bytes', '')}", a, b, style, width)
    yield ""
    empty = []
    for lens in change.after.ledger.lenses:
        measures = {measure: change.lenses[lens.name][measure] for measure in _LENS_MEASURES[lens.unit]}
        if not any(map(any, measures.values())):
            empty.append(lens.name)
            continue
        for measure, (a, b) in measures.items():
            yield from _row(f"{lens.name}: {measure.removeprefix('bytes_')}", a, b, style, width)
    if empty:
        yield from wrapped(f"nothing before or after: {', '.join(empty)}", width)
    yield ""
    if not change.sites:
        yield "sites: (no change)"
    for site in change.sites[:limit]:
        was, now = site.before, site.after
        fate = "new" if not was.calls else "gone" if not now.calls else ""
        lenses = "".join(
            f", {lens} {signed(value)}{'' if change.measured_at_peak(lens) else ' in all'}"
            for lens, value in site.lenses.items()
        )
        head = f"{'+' if site.gross_change > 0 else ''}{human_bytes(site.gross_change)} at the peak"
        first, *rest = wrapped(
            head
            + (f" ({fate})" if fate else "")
            + f", {signed(now.peak_blocks - was.peak_blocks)} blocks, {signed(now.calls - was.calls)} calls{lenses}",
            width,
        )
        yield style(first[: len(head)], "yellow") + first[len(head) :]
        yield from rest
        for number, frame in enumerate(site.stack, start=1):
            yield shorten(f"    #{number:02}: {frame}", width)
    if len(change.sites) > len(change.sites[:limit]):
        yield f"({len(change.sites) - len(change.sites[:limit]):,} more)"


def _notes(change: Change) -> list[str]:
    """Reasons why a change of figures may be none of the program."""
    notes = []
    if change.before.sampled or change.after.sampled:
        errors = [peak_error(each) for each in (change.before, change.after)]
        before, after = (percent(error or 0.0, 1) for error in errors)
        notes.append(
            f"a sampled recording's figures are scaled: the peak's standard error is {before} before and {after} after. Changes below twice "
            "of that may be chance, and sites have larger errors"
        )
    imports = any(each.process["imported_from"] for each in (change.before, change.after))
    if change.not_compared and not imports:  # the missing facts say it of imports
        notes.append(
            f"not compared, because they run over one of the recordings only: {', '.join(change.not_compared)}"
        )
    return [*notes, *_imports(change), *_snapshots_apart(change)]


def _imports(change: Change) -> list[str]:
    """The facts that the files of other profilers don't have."""
    missing = {
        name: (recording.process["imported_from"], tuple(words_of(recording.process["missing_facts"])))
        for name, recording in (("before", change.before), ("after", change.after))
        if recording.process["imported_from"]
    }
    notes = []
    if len(set(missing.values())) < len(missing):
        missing = {"before and after": missing["before"]}
    for name, (profiler, words) in missing.items():
        side = f"{name}, imported from {profiler}"
        notes.extend([f"{side}: the file has no {FACTS[word]}" for word in words] or [side])
    without_usable = [name for name, (_, words) in missing.items() if "usable" in words]
    if without_usable in (["before"], ["after"]):
        notes.append(f"gross {without_usable[0]} is requested bytes only: compare the requested bytes of the two")
    return notes


_ALIKE = 0.05  # of the peak: snapshots that differ by less are taken for alike


def _snapshots_apart(change: Change) -> list[str]:
    """Lenses that read blocks compare the contents of the snapshots, which may be different parts of the two runs."""
    before, after = change.before.snapshot, change.after.snapshot
    names = [lens.name for lens in change.after.ledger.lenses if lens.needs == "snapshots"]
    if before is None or after is None or not names:
        return []
    if before.kind == after.kind and abs(before.share - after.share) < _ALIKE:
        return []
    return [
        f"different snapshots: before {before.words}, after {after.words}; changes of {', '.join(names)} may come from that alone"
    ]


_WIDE = 26 + 3 * 18 + 12  # columns of a row


def _row(label: str, before: float, after: float, style: Style, width: int) -> Iterator[str]:
    look = "red" if after > before else "green"
    share = change_share(before, after)
    if width >= _WIDE:
        row = f"{label:<26}{exact(before):>18}{exact(after):>18}"
        yield row + (style(f"{signed(after - before):>18}", look) + f"  {share}" if share else f"{'(no change)':>18}")
        return
    show = human_count if label.endswith("blocks") else human_bytes
    yield label
    yield f"  {show(before)} -> {show(after)}  " + (style(share, look) if share else "(no change)")


def as_json(change: Change) -> dict[str, Any]:
    from tare.reports.json_report import frame

    def pair(values: tuple[float, float]) -> dict[str, int]:
        before, after = round(values[0]), round(values[1])
        return {"before": before, "after": after, "change": after - before}

    return {
        "before": {
            "path": change.before.path,
            "program": change.before.process["program"],
            "pid": change.before.process["pid"],
        },
        "after": {
            "path": change.after.path,
            "program": change.after.process["program"],
            "pid": change.after.process["pid"],
        },
        "lenses_run": list(change.lenses),
        "notes": _notes(change),
        **{
            moment: {measure: pair(values) for measure, values in measures.items()}
            for moment, measures in change.moments.items()
        },
        "lenses": {
            lens: {measure: pair(values) for measure, values in measures.items()}
            for lens, measures in change.lenses.items()
        },
        "sites": [
            {
                "stack": [frame(f) for f in site.stack],
                "gross_bytes_peak": pair((site.before.peak_gross_bytes, site.after.peak_gross_bytes)),
                "tare_bytes_peak": pair((site.before.tare_bytes, site.after.tare_bytes)),
                "gross_bytes_end": pair((site.before.end_gross_bytes, site.after.end_gross_bytes)),
                "blocks_peak": pair((site.before.peak_blocks, site.after.peak_blocks)),
                "calls": pair((site.before.calls, site.after.calls)),
                "lenses": site.lenses,
            }
            for site in change.sites
        ],
    }
