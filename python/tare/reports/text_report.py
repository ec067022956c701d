"""The report as text: the balance, the findings, and records in DMD's spirit."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tare.analysis.group_files import has_others
from tare.analysis.not_sought import not_sought
from tare.analysis.records import sizes_line
from tare.analysis.worth import is_worth_acting_on, ranking
from tare.reports import account, do_first, failed_requests
from tare.reports.text_parts import (
    balance,
    caveats,
    course,
    finding_lines,
    headline,
    nameless_files,
    stack_lines,
    unnamed_note,
    wrapped,
)
from tare.reports.watched import end
from tare.schema.missing import lacks_slop, words_of
from tare.text.terminal import shorten
from tare.text.units import human_bytes, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Recording
    from tare.analysis.records import Page, Record
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame
    from tare.text.terminal import Style

_MOST_FIRST = 10  # of the list that the report begins with
_FINDINGS_A_LENS = 3  # of the default report; --lens shows -n of one


def report(
    recording: Recording,
    page: Page | None,
    chosen: Sequence[Lens],
    title: str,
    limit: int | None,
    style: Style,
    width: int,
) -> Iterator[str]:
    """All lenses, or the chosen ones."""
    for line in wrapped(headline(recording), width):
        yield style(line, "bold")
    if command := recording.process["command_line"]:  # imports may have none
        yield shorten(f"command: {' '.join(command.split())}", width)
    yield from account.lines(recording, width)
    for note in [*caveats(recording), *nameless_files(recording)]:
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    for line in failed_requests.lines(recording, width):
        yield style(line, "yellow")
    yield from end.growth_lines(recording, width)
    yield ""
    if not chosen:
        listed = ranking(recording.by_line)
        yield from do_first.lines(recording.by_line, listed, style, width, _MOST_FIRST)
        yield from do_first.holders(recording, width)
        yield from do_first.not_looked_for(not_sought(recording), width)
        yield ""
    yield from balance(recording, style, width)
    yield from course(recording, width)
    yield ""
    for lens in chosen:
        yield from _lens_report(recording, lens, limit, style, width)
    if chosen:
        return
    silent = []
    for each in recording.ledger.lenses:
        if every := _found(recording, each):
            yield from _findings(recording, each, every, _FINDINGS_A_LENS, style, width, least="worth acting on")
        else:
            silent.append(each.name)
    if silent:
        yield from wrapped(f"not seen above the thresholds of: {', '.join(silent)}", width)
        yield ""
    stated = {path for path, _ in recording.source.nameless_modules()}
    if note := unnamed_note((frame for *_, frame in default_findings(recording)), stated):
        yield from wrapped(note, width)
        yield ""
    if page is not None:
        yield from _records(recording, page, title, style, width)
    group = "   tare report … --group" if has_others(recording.path) else ""
    yield from wrapped(f"next: tare explore {shlex.quote(recording.path)}   tare report … --html --open{group}", width)


def _lens_report(recording: Recording, lens: Lens, limit: int | None, style: Style, width: int) -> Iterator[str]:
    from tare.text.wrapping import wrap

    for label, text in (
        ("question", lens.question),
        ("why", lens.why),
        ("threshold", lens.threshold),
        ("may be wrong", lens.false_positives),
        ("sampling", f"{lens.sampling}; this recording is {'sampled' if recording.sampled else 'exact'}"),
    ):
        yield from wrap(f"{label:<13} {text}", width, subsequent_indent=" " * 14)
    yield ""
    yield from _findings(recording, lens, _found(recording, lens), limit, style, width)


def _findings(
    recording: Recording,
    lens: Lens,
    every: list[Finding],
    limit: int | None,
    style: Style,
    width: int,
    least: str = "any",
) -> Iterator[str]:
    found = every if least == "any" else [each for each in every if is_worth_acting_on(each, lens)]
    unsure = f"  ({plural(len(every) - len(found), 'finding')} of low confidence; --lens {lens.name} prints it)"
    weight = "" if lens.weight == "tare" else " (potential: not part of the tare)"
    if not found:
        yield from wrapped(f"{lens.name}: no findings above its threshold{weight}", width)
        if every:
            yield from wrapped(unsure, width)
        yield ""
        return
    first, *rest = wrapped(f"{lens.name}: {plural(len(found), 'finding')}{weight}", width)
    yield style(lens.name, "cyan") + first.removeprefix(lens.name)
    yield from rest
    shown = found[:limit]
    for finding, named in zip(shown, recording.finding_frames(shown), strict=True):
        yield from finding_lines(finding, lens, named, style, width, None)
    if len(found) > len(shown):
        yield f"  ({len(found) - len(shown):,} more)"
    if len(found) < len(every):
        yield from wrapped(unsure, width)
    yield ""


def _found(recording: Recording, lens: Lens) -> list[Finding]:
    """A line each: as the summary of the run has them, in the same order and words; the stacks behind one are counted here only."""
    found = recording.by_line.findings(lens, by="site_location_id")
    alike = recording.by_line.alike(lens)
    every = recording.ledger.findings(lens, by="site_location_id", all_claims="all", alike=alike)
    sites = {finding.site_location_id: finding.sites for finding in every}
    return [finding._replace(sites=sites.get(finding.site_location_id, 1)) for finding in found]


def default_findings(recording: Recording) -> Iterator[tuple[Lens, Finding, Frame]]:
    """Those of the report without options, in its order."""
    for lens in recording.ledger.lenses:
        found = [each for each in _found(recording, lens) if is_worth_acting_on(each, lens)][:_FINDINGS_A_LENS]
        yield from zip([lens] * len(found), found, recording.finding_frames(found), strict=True)


def _records(recording: Recording, page: Page, title: str, style: Style, width: int) -> Iterator[str]:
    if not page.records:
        if page.matching:  # -n 0
            yield f"{title}: {plural(page.matching, 'record')}"
        else:
            yield f"{title}: no blocks" + (" match" if page.gross_bytes else "")
        return
    running = 0.0
    about = "~" if recording.sampled else ""
    for number, record in enumerate(page.records, start=1):
        running += record.gross_bytes
        yield style(f"{title} {{", "cyan")
        yield f"  {about}{plural(record.blocks, 'block')} in record {number:,} of {page.matching:,}"
        for text in _weights(record, about, words_of(recording.process["missing_facts"])):
            yield from wrapped(text, width, "  ")
        share, so_far = (percent(part, page.gross_bytes, 2) for part in (record.gross_bytes, running))
        yield from wrapped(f"{share} of the heap ({so_far} cumulative)", width, "  ")
        yield "  Allocated at {"
        yield from stack_lines(record.stack, width)
        yield "  }"
        yield "}"
        yield ""
    if page.matching > len(page.records):
        yield f"({page.matching - len(page.records):,} more)"


def _weights(record: Record, about: str, missing: Sequence[str]) -> Iterator[str]:
    slop = "?" if lacks_slop(missing) else f"{about}{human_bytes(record.slop_bytes)}"
    headers = "?" if "usable" in missing else f"{about}{human_bytes(record.gross_bytes - record.usable_bytes)}"
    yield (
        f"{about}{human_bytes(record.gross_bytes)} gross ({about}{human_bytes(record.requested_bytes)} requested / "
        f"{slop} slop / {headers} headers)"
    )
    if round(record.blocks) != 1:
        yield f"Individual block sizes in bytes: {sizes_line(record)}"
