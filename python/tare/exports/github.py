"""Annotations of GitHub Actions: one command a line, for the ten largest findings with a source line.

GitHub shows ten warnings a step. Where GITHUB_STEP_SUMMARY is set, all findings go into the step's summary as a table.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from tare.analysis.languages import remedy
from tare.exports.found import Found, findings, reviewed_path
from tare.text.units import human_bytes

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_MOST_ANNOTATIONS = 10
_MOST_ROWS = 200


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    found = findings(recording, selection)
    for each in [each for each in found if each.place.file and each.place.line][:_MOST_ANNOTATIONS]:
        title = f"{each.lens.name}: {human_bytes(each.bytes)}"
        out.write(command("warning", title, f"{each.name}: {remedy(each.finding, each.frame)}", each.place).encode())
    add_to_summary(_table(recording, found))


def command(level: str, title: str, message: str, frame: Frame | None) -> str:
    """One annotation, at the frame's line where it has one."""
    where = ""
    if frame is not None and frame.file and frame.line:
        where = f"file={_property(reviewed_path(frame))},line={frame.line},"
    return f"::{level} {where}title={_property(title)}::{_message(message)}\n"


def add_to_summary(markdown: str) -> None:
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as page:
            page.write(markdown)


def _table(recording: Recording, found: list[Found]) -> str:
    peak = recording.moments["peak"]
    rows = [
        f"| {each.lens.name} | `{cell(str(each.frame))}` | {human_bytes(each.bytes)} | {cell(remedy(each.finding, each.frame))} |"
        for each in found[:_MOST_ROWS]
    ]
    more = [f"\n{len(found) - _MOST_ROWS:,} more findings aren't listed."] if len(found) > _MOST_ROWS else []
    head = f"### Heap of {cell(recording.title)}: {human_bytes(peak.gross_bytes)} at the peak\n"
    table = (
        ["| lens | site | bytes | remedy |", "|---|---|---|---|", *rows, *more] if found else ["No lens found waste."]
    )
    return "\n".join([head, *table, ""])


def cell(text: str) -> str:
    return text.replace("`", "'").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _message(text: str) -> str:
    """As the runner's toolkit escapes: a line break would begin another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
