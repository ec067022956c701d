"""SARIF 2.1.0 (OASIS): one result for each finding, with the lens as its rule."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from tare import __version__
from tare.exports.found import Found, findings
from tare.text.units import human_bytes

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

_MOST_RESULTS = 5000  # services show no more


def write(recording: Recording, out: IO[bytes]) -> None:
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
    results = [_result(each, numbers[each.lens.name]) for each in findings(recording)[:_MOST_RESULTS]]
    document = {
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
    out.write(json.dumps(document, indent=1).encode())


def _result(found: Found, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.lens.name,
        "ruleIndex": rule,
        "level": "warning" if found.lens.weight == "tare" else "note",
        "message": {"text": f"{found.frame.name}: {human_bytes(found.bytes)}. {found.finding.remedy}"},
        "partialFingerprints": {"tareSite/v1": found.fingerprint},
    }
    if found.frame.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(found.path())}}
        if found.frame.line:
            place["region"] = {"startLine": found.frame.line}
        result["locations"] = [{"physicalLocation": place}]
    return result
