"""SARIF 2.1.0 (OASIS): one result for each finding, with the lens as its rule."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from tare import __version__
from tare.analysis.languages import remedy
from tare.exports.found import Found, findings, reviewed_path
from tare.text.units import human_bytes

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_MOST_RESULTS = 5000  # services show no more


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    lenses = recording.ledger.lenses
    rules = [
        {
            "id": lens.name,
            "shortDescription": {"text": lens.question},
            "fullDescription": {"text": lens.why},
            "help": {"text": lens.why},
            "defaultConfiguration": {"level": "warning" if lens.weight == "tare" else "note"},
        }
        for lens in lenses
    ]
    numbers = {lens.name: number for number, lens in enumerate(lenses)}
    results = [_result(each, numbers[each.lens.name]) for each in findings(recording, selection)[:_MOST_RESULTS]]
    out.write(document(rules, results))


def document(rules: list[dict[str, Any]], results: list[dict[str, Any]]) -> bytes:
    whole = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tare", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }
    return json.dumps(whole, indent=1).encode() + b"\n"


def _result(found: Found, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.lens.name,
        "ruleIndex": rule,
        "level": "warning" if found.lens.weight == "tare" else "note",
        "message": {"text": f"{found.name}: {human_bytes(found.bytes)}. {remedy(found.finding, found.frame)}"},
        "partialFingerprints": {"tareSite/v1": found.fingerprint},
        "properties": {"bytes": found.bytes},
    }
    return result | locations(found.place, found.place.module)


def locations(frame: Frame | None, other: str) -> dict[str, Any]:
    """GitHub refuses the whole file if one result has no place: without a source file it is the first line of another."""
    path, line = (reviewed_path(frame), frame.line) if frame is not None and frame.file else (other, 1)
    # A relative reference can't begin with a slash.
    uri = f"file://{quote(path)}" if path.startswith("/") else quote(path or "unknown")
    place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if line:
        place["region"] = {"startLine": line}
    return {"locations": [{"physicalLocation": place}]}
