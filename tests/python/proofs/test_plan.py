"""Plans: which findings become which rules, and that no shape has two."""

from __future__ import annotations

from handmade import Handmade
from tare.proofs.plan import plan, together
from tare.proofs.remedies import Remedy, Rule, Simulation, Unsimulated


def test_findings_become_rules(busy: Handmade) -> None:
    planned = plan(busy.recording())
    assert [each.number for each in planned] == list(range(1, len(planned) + 1))
    by_lens = {each.finding.lens: each for each in planned}
    assert by_lens["slop"].rules == (Rule(0, Remedy.RESIZE, 1016),)
    assert by_lens["headers"].rules == (Rule(2, Remedy.SLABS),)
    assert by_lens["churn"].rules == (Rule(3, Remedy.REUSE),)
    largest = [each.finding.bytes_peak or 0 for each in planned]
    assert largest == sorted(largest, reverse=True)


def test_a_shape_has_the_rule_of_the_first_finding(busy: Handmade) -> None:
    slop, *_ = plan(busy.recording())
    other = slop._replace(number=9, simulation=Simulation((Rule(0, Remedy.REUSE), Rule(7, Remedy.REUSE)), ""))
    assert together([slop, other]) == [(Rule(0, Remedy.RESIZE, 1016), slop.number), (Rule(7, Remedy.REUSE), 9)]
    silent = slop._replace(simulation=Unsimulated("no calls"))
    assert together([silent, other]) == [(Rule(0, Remedy.REUSE), 9), (Rule(7, Remedy.REUSE), 9)]
