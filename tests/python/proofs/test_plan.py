"""Plans: which findings become which rules, and that no shape has two."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis.worth import ranking
from tare.proofs.plan import plan, together
from tare.proofs.remedies import Remedy, Rule, Simulation, Unsimulated
from tare.proofs.simulations import Question, simulate


def test_findings_become_rules(busy: Handmade) -> None:
    planned = plan(busy.recording())
    assert [each.number for each in planned] == list(range(1, len(planned) + 1))
    by_lens = {each.finding.lens: each for each in planned}
    assert by_lens["slop"].rules == (Rule(0, Remedy.RESIZE, 1016),)
    assert by_lens["headers"].rules == (Rule(2, Remedy.SLABS),)
    assert by_lens["churn"].rules == (Rule(3, Remedy.REUSE),)
    assert by_lens["growth"].rules == (Rule(1, Remedy.GROW),)


def test_numbers_are_those_of_the_list_by_worth(busy: Handmade) -> None:
    recording = busy.recording()
    ranked = ranking(recording)
    entries = [*ranked.first, *ranked.rest]
    planned = plan(recording)
    assert [each.finding for each in planned[: len(entries)]] == [entry.finding for entry in entries]


def test_a_shape_has_the_rule_of_the_first_finding(busy: Handmade) -> None:
    slop = next(each for each in plan(busy.recording()) if each.finding.lens == "slop")
    other = slop._replace(number=9, simulation=Simulation((Rule(0, Remedy.REUSE), Rule(7, Remedy.REUSE)), ""))
    assert together([slop, other]) == [(Rule(0, Remedy.RESIZE, 1016), slop.number), (Rule(7, Remedy.REUSE), 9)]
    silent = slop._replace(simulation=Unsimulated("no calls"))
    assert together([silent, other]) == [(Rule(0, Remedy.REUSE), 9), (Rule(7, Remedy.REUSE), 9)]


def rule_of(made: Handmade, lens: str) -> tuple[Rule, ...]:
    (planned,) = (each for each in plan(made.recording()) if each.finding.lens == lens)
    return planned.rules


def test_duplicates_are_left_out_by_their_share(looked_into: Handmade) -> None:
    (rule,) = rule_of(looked_into, "duplicates")
    # 300 blocks of 3 contents
    assert (rule.remedy, rule.share) == (Remedy.SHARE, pytest.approx(297 / 300))
    assert rule.bytes == 20


def test_what_is_no_call_has_a_reason() -> None:
    question = Question(None, (), (), None)  # type: ignore[arg-type]
    for lens in ("mappings", "unshared"):
        answer = simulate(lens, question)
        assert isinstance(answer, Unsimulated) and answer.reason
    assert isinstance(simulate("headers", question), Unsimulated)
