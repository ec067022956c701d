"""Broken limits for services of code review: hostile names stay data, and each file says which line."""

from __future__ import annotations

import json

import pytest
from handmade import Handmade
from tare.analysis.budget import Rule, Verdict, check, parse
from tare.analysis.culprits import culprits
from tare.exports import broken
from tare.exports.broken import Broken
from tare.naming.names import Frame

HOSTILE = "evil::name\n::warning file=x::owned"


def verdicts(made: Handmade, limits: dict[str, object]) -> list[Verdict]:
    return check([made.recording()], [], parse({"budget": limits}, "test"))


def grown(count: int) -> Handmade:
    made = Handmade()
    made.blocks(made.stack("parse@/src/parse.c:7", "main@/src/main.c:3"), 100, 104, total=count, peak=count)
    made.blocks(made.stack("steady@/src/steady.c:9", "main@/src/main.c:4"), 5000, 5000, total=200, peak=200)
    return made


def test_a_baseline_names_the_site_that_grew_not_the_largest() -> None:
    before, after = grown(100).recording(), grown(5000).recording()
    ((verdict, sites), *_) = culprits(check([after], [before], parse({}, "test")), after, [before])
    assert verdict.name == "peak.gross_bytes against the baseline"
    assert [(site.frame.function, site.frame.line) for site in sites] == [("parse", 7)]
    assert sites[0].growth == 4900 * (104 + 8)


def test_a_budget_names_the_largest_site() -> None:
    made = grown(100)
    found = culprits(verdicts(made, {"peak.gross_bytes": 1000}), made.recording(), [])
    assert [[site.frame.function for site in sites] for _, sites in found] == [["steady"]]
    assert culprits(verdicts(made, {"peak.gross_bytes": 10_000_000}), made.recording(), []) == []


def test_a_site_limit_names_sites_that_fit_its_pattern() -> None:
    made = grown(100)
    rule = Rule("site.calls", "par*", 5.0)
    verdict = Verdict(f"{rule.figure} of {rule.site}", 100.0, 5.0, None, "")
    ((_, (site,)),) = culprits([verdict], made.recording(), [])
    assert (site.frame.function, site.amount, site.measure) == ("parse", 100.0, "allocations")


def test_hostile_names_are_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    made = Handmade()
    made.blocks(made.stack(f"{HOSTILE}@/src/a,b.c:7"), 100, 104, total=5, peak=5)
    ((verdict, (site,)),) = culprits(verdicts(made, {"peak.gross_bytes": 1}), made.recording(), [])
    listed = [Broken(verdict.name, f"{site.frame.name} grew", site.frame)]
    lines = broken.github(listed, "app").splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error file=")
    (result,) = json.loads(broken.sarif(listed))["runs"][0]["results"]
    assert result["message"]["text"] == f"{HOSTILE} grew"
    (issue,) = json.loads(broken.gitlab(listed))
    assert issue["description"] == f"{HOSTILE} grew"


def test_a_limit_without_a_site_still_has_a_place() -> None:
    """A service refuses all results if one has none."""
    listed = [Broken("peak.gross_bytes", "too much", None, "tare.toml")]
    assert json.loads(broken.gitlab(listed))[0]["location"] == {"path": "tare.toml", "lines": {"begin": 1}}
    (result,) = json.loads(broken.sarif(listed))["runs"][0]["results"]
    place = {"artifactLocation": {"uri": "tare.toml"}, "region": {"startLine": 1}}
    assert result["locations"] == [{"physicalLocation": place}]


def test_two_sites_of_one_function_have_two_fingerprints() -> None:
    """GitLab shows one of several issues with the same fingerprint."""

    def prints(*lines: int) -> list[str]:
        frames = [Frame("parse", "", "/src/parse.c", line, "", None) for line in lines]
        listed = [Broken("peak.gross_bytes", "too much", frame) for frame in frames]
        return [issue["fingerprint"] for issue in json.loads(broken.gitlab(listed))]

    assert len(set(prints(7, 9))) == 2
    assert prints(7, 9) == prints(12, 14)
