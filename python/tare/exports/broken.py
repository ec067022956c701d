"""Broken limits of `tare check` for services of code review: SARIF, annotations of GitHub Actions, GitLab's Code Quality; and Bencher's metrics."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.exports import github as actions
from tare.exports import sarif as standard
from tare.exports.found import fingerprint, reviewed_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.budget import Verdict
    from tare.naming.names import Frame

_MOST_ANNOTATIONS = 10  # that GitHub shows of a step


class Broken(NamedTuple):
    """A limit that is exceeded, at one of the sites behind it. `frame` is None where no site is known."""

    limit: str
    message: str
    frame: Frame | None
    file: str = "."  # the place where no source file is known: services need one


def _fingerprints(broken: Sequence[Broken]) -> list[str]:
    """Of each; two sites of one function have two."""
    seen: Counter[str] = Counter()
    found = []
    for each in broken:
        rule = f"budget/{each.limit}"
        key = fingerprint(rule, each.frame)
        found.append(fingerprint(rule, each.frame, seen[key]))
        seen[key] += 1
    return found


def sarif(broken: Sequence[Broken]) -> bytes:
    names = list(dict.fromkeys(each.limit for each in broken))
    rules: list[dict[str, Any]] = [
        {
            "id": f"budget/{name}",
            "shortDescription": {"text": f"limit of {name}"},
            "defaultConfiguration": {"level": "error"},
        }
        for name in names
    ]
    results = [
        {
            "ruleId": f"budget/{each.limit}",
            "ruleIndex": names.index(each.limit),
            "level": "error",
            "message": {"text": each.message},
            "partialFingerprints": {"tareLimit/v1": print_},
        }
        | standard.locations(each.frame, each.file)
        for each, print_ in zip(broken, _fingerprints(broken), strict=True)
    ]
    return standard.document(rules, results)


def github(broken: Sequence[Broken], title: str) -> str:
    """Annotations; the table goes to the step's summary."""
    rows = [
        f"| {actions.cell(each.limit)} | `{actions.cell(str(each.frame or ''))}` | {actions.cell(each.message)} |"
        for each in broken
    ]
    table = ["| limit | site | |", "|---|---|---|", *rows, ""] if broken else ["All limits are kept.", ""]
    actions.add_to_summary("\n".join([f"### Heap budget of {actions.cell(title)}", "", *table]))
    return "".join(
        actions.command("error", each.limit, each.message, each.frame) for each in broken[:_MOST_ANNOTATIONS]
    )


def gitlab(broken: Sequence[Broken]) -> bytes:
    """Code Quality requires a path and a line."""
    issues = [
        {
            "description": each.message,
            "check_name": f"tare/{each.limit}",
            "fingerprint": print_,
            "severity": "major",
            "location": {
                "path": reviewed_path(each.frame) if each.frame and each.frame.file else each.file,
                "lines": {"begin": (each.frame.line if each.frame else None) or 1},
            },
        }
        for each, print_ in zip(broken, _fingerprints(broken), strict=True)
    ]
    return json.dumps(issues, indent=1).encode() + b"\n"


def bmf(verdicts: Sequence[Verdict], program: str) -> bytes:
    """Every limit, kept or not, with its bound."""
    measures = {each.name: {"value": each.actual, "upper_value": each.limit} for each in verdicts}
    return json.dumps({program: measures}, indent=1).encode() + b"\n"
