"""The tables of findings and of sites: columns that fit the screen, and the details of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tare.analysis.languages import remedy
from tare.analysis.worth import Entry
from tare.reports.do_first import gains
from tare.reports.text_parts import amount, stack_lines
from tare.text.printable import printable
from tare.text.terminal import shorten
from tare.text.units import human_count, percent
from tare.tui.words import signed_in_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.widgets import DataTable

    from tare.analysis.finding_changes import FindingChange, Found
    from tare.analysis.site_facts import Histograms
    from tare.analysis.worth import Whole
    from tare.explore.explorer import SiteRow
    from tare.explore.graph import Sums
    from tare.naming.names import Frame

_PADDING = 2  # columns around a cell
_LEAST_NAME = 20
_BAR = 24


def fill(table: DataTable[Text], heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    """The last column is a name that has what is left of the width. Columns before it are left out, from the right, if it has too
    little. The cursor stays in its row.
    """
    at = table.cursor_row
    table.clear(columns=True)
    widths = [
        max([len(heads[number])] + [len(row[number]) for row in rows]) + _PADDING for number in range(len(heads) - 1)
    ]
    kept = list(range(len(widths)))
    while len(kept) > 1 and width - sum(widths[each] for each in kept) - _PADDING < _LEAST_NAME:
        kept.pop()
    room = max(width - sum(widths[each] for each in kept) - _PADDING - 1, _LEAST_NAME)
    for number in kept:
        table.add_column(Text(heads[number], justify="right"), width=widths[number] - _PADDING)
    table.add_column(heads[-1], width=room)
    for row in rows:
        cells = [Text(printable(row[number]), justify="right") for number in kept]
        table.add_row(*cells, Text(shorten(row[-1], room)))
    table.move_cursor(row=min(at, max(len(rows) - 1, 0)))


def finding_cells(change: FindingChange, whole: Whole, compares: bool) -> list[str]:
    found = change.shown
    cells = [found.lens.name, gain(found, whole)]
    if compares:
        cells.insert(0, _change(change) if change.kind == "changed" else change.kind)
    return [*cells, amount(found.finding, found.lens), str(found.frame)]


def gain(found: Found, whole: Whole) -> str:
    return gains(Entry(found.lens, found.finding, (found.lens.name,), found.worth), whole)


def _change(change: FindingChange) -> str:
    assert change.before and change.after
    return f"was {amount(change.before.finding, change.before.lens)}"


def finding_details(change: FindingChange, whole: Whole, stack: Sequence[Frame], width: int) -> Iterator[str]:
    found = change.shown
    finding, lens = found.finding, found.lens
    yield str(found.frame)
    if found.frame.file:
        yield f"{found.frame.file}:{found.frame.line or '?'}"
    yield ""
    yield f"{lens.name}: {amount(finding, lens)}; {gain(found, whole)}; confidence {finding.confidence}; effort: {found.worth.effort}"
    if change.kind != "same" and change.before and change.after:
        yield f"before: {amount(change.before.finding, change.before.lens)}"
    yield ""
    yield f"What to do: {remedy(finding, found.frame)}"
    yield ""
    if found.worth.evidence:
        yield f"Evidence: {found.worth.evidence}"
    yield f"Question: {lens.question}"
    yield f"Why: {lens.why}"
    yield f"May be wrong: {lens.false_positives}"
    if stack:
        yield ""
        yield from stack_lines(stack, width)


def site_heads(label: str, compares: bool) -> list[str]:
    return [label, *(["change"] if compares else []), "share", "blocks", "site"]


def site_cells(site: SiteRow, total: Sums, unit: str, compares: bool) -> list[str]:
    change = [signed_in_unit(site.sums.now - site.sums.before, unit, sign=True)] if compares else []
    return [
        signed_in_unit(site.sums.now, unit),
        *change,
        percent(site.sums.now, total.now),
        human_count(site.blocks),
        str(site.frame),
    ]


def site_details(site: SiteRow, unit: str, facts: tuple[Histograms, Sequence[Frame]], width: int) -> Iterator[str]:
    histograms, stack = facts
    yield str(site.frame)
    if site.frame.file:
        yield f"{site.frame.file}:{site.frame.line or '?'}"
    yield f"{signed_in_unit(site.sums.now, unit)} {unit if unit != 'bytes' else ''}".rstrip()
    for title, bars in (
        ("Sizes (usable bytes) of its allocations", histograms.sizes),
        ("Freed (allocations in the process after its own)", histograms.lifetimes),
    ):
        yield ""
        yield f"{title}:"
        yield from histogram(bars)
    yield ""
    yield "The stack with most bytes:"
    yield from stack_lines(stack, width)


def histogram(bars: Sequence[tuple[str, float]]) -> Iterator[str]:
    most = max([count for _, count in bars] + [1.0])
    whole = sum(count for _, count in bars)
    width = max([len(label) for label, _ in bars] + [1])
    for label, count in bars:
        bar = "█" * round(_BAR * count / most)
        yield f"  {label:>{width}}  {human_count(count):>8}  {percent(count, whole):>6}  {bar}"


def live_line(total: Sums, unit: str, label: str, when: str, compares: bool) -> str:
    text = f"{label} {when}: {signed_in_unit(total.now, unit)}{' blocks' if unit == 'blocks' else ''}"
    if compares:
        text += f", {signed_in_unit(total.now - total.before, unit, sign=True) or '0'} to the baseline"
    return text
