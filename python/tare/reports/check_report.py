"""Kept and broken budgets: as text, as JSON, and as the JUnit file that CI servers show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from tare.reports.text_parts import wrapped
from tare.text.units import change_share, exact, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tare.analysis.budget import Verdict
    from tare.analysis.culprits import Culprit
    from tare.text.terminal import Style


def value(name: str, amount: float) -> str:
    if "percent" in name:
        return f"{amount:.2f} %"
    return f"{human_bytes(amount)} ({exact(amount)})" if "bytes" in name else exact(amount)


def sentence(verdict: Verdict) -> str:
    name = verdict.name
    text = f"{name}: {value(name, verdict.actual)}, allowed {value(name, verdict.limit)}"
    if verdict.baseline is not None:
        share = change_share(verdict.baseline, verdict.actual)
        text += f"; the baseline has {value(name, verdict.baseline)}" + (f", {share}" if share else ", the same")
    return text + (f"; most at {verdict.detail}" if verdict.detail and not verdict.kept else "")


def site_sentence(culprit: Culprit) -> str:
    """`parse (app.c:12) has 3.1 MiB more than in the baseline; peak.gross_bytes: ...`."""
    return f"{_site(culprit)}; {sentence(culprit.verdict)}"


def _site(culprit: Culprit) -> str:
    unit = culprit.measure
    amount = human_bytes(culprit.growth) if unit == "bytes" else f"{exact(culprit.growth)} {unit}"
    than = "" if culprit.before is None else " more than in the baseline"
    return f"{culprit.frame} has {amount}{than}"


def lines(
    verdicts: Sequence[Verdict], style: Style, width: int, sites: Mapping[str, Sequence[Culprit]]
) -> Iterator[str]:
    """`sites`: those behind each broken limit, by its name."""
    for verdict in verdicts:
        mark, look = ("ok", "green") if verdict.kept else ("OVER", "red")
        first, *rest = wrapped(f"{mark:<5}{sentence(verdict)}", width)
        yield style(first[:5], look) + first[5:]
        yield from rest
        for site in () if verdict.kept else sites.get(verdict.name, ()):
            yield from wrapped(f"     {_site(site)}", width)
    broken = sum(not verdict.kept for verdict in verdicts)
    kept = len(verdicts) - broken
    yield style(f"{broken} over budget, {kept} kept" if broken else f"all {kept} kept", "red" if broken else "green")


def as_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {
        "kept": all(verdict.kept for verdict in verdicts),
        "verdicts": [{**verdict._asdict(), "kept": verdict.kept} for verdict in verdicts],
    }


def junit(verdicts: Sequence[Verdict], program: str) -> str:
    broken = sum(not verdict.kept for verdict in verdicts)
    cases = "".join(
        f"  <testcase classname={quoteattr('tare.' + program)} name={quoteattr(verdict.name)}"
        + (
            "/>\n"
            if verdict.kept
            else f">\n    <failure message={quoteattr(sentence(verdict))}>{escape(sentence(verdict))}</failure>\n  </testcase>\n"
        )
        for verdict in verdicts
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="tare check" tests="{len(verdicts)}" failures="{broken}">\n'
        f"{cases}</testsuite>\n"
    )
