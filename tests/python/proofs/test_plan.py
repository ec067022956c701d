"""Plans: which findings become which rules, and that no shape has two."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.worth import ranking
from tare.proofs.plan import plan, together, worth_together
from tare.proofs.remedies import Remedy, Rule, Simulation, Unsimulated
from tare.proofs.simulations import SIMULATIONS, Question, simulate


def test_findings_become_rules(busy: Handmade) -> None:
    planned = plan(busy.recording())
    assert [each.number for each in planned] == list(range(1, len(planned) + 1))
    by_lens = {each.finding.lens: each for each in planned}
    assert by_lens["slop"].rules == (Rule(0, Remedy.RESIZE, 1016),)
    assert by_lens["headers"].rules == (Rule(2, Remedy.SLABS),)
    assert by_lens["churn"].rules == (Rule(3, Remedy.SHARE, share=1.0),)
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


def test_lenses_of_one_line_promise_its_bytes_once(made: Handmade) -> None:
    made.blocks(made.stack("node", "main"), 33, 56, total=10_000, peak=10_000)
    made.blocks(made.stack("leaf", "main"), 24, 24, total=10_000, peak=10_000)
    made.size_class(33, 56, 24, clownshoe=1)
    recording = made.recording()
    planned = plan(recording)
    assert sorted(each.finding.lens for each in planned) == ["headers", "headers", "slop"]
    # 64 bytes of a node are gross; an arena needs 40 of them for 33, and a page for each size
    assert worth_together(recording, planned).peak_bytes == 10_000 * 24 + 10_000 * 8 - 2 * 4096
    silent = [each._replace(worth=each.worth._replace(gain_peak_bytes=None, gain_cpu_ns=None)) for each in planned]
    assert worth_together(recording, silent)[:2] == (None, None)


def test_together_has_the_causes_of_the_list(made: Handmade) -> None:
    # Two copies of an inlined function have two return addresses, and one name.
    # *slop* finds the first, and *headers* names both by the second, which has more.
    made.blocks(made.stack("node@a.c:1", "main"), 33, 56, total=10_000, peak=10_000)
    made.blocks(made.stack("node@a.c:01", "main"), 24, 24, total=50_000, peak=50_000)
    made.size_class(33, 56, 24, clownshoe=1)
    recording = made.recording()
    ranked = ranking(recording)
    assert len(ranked.first) == 1
    worth = ranked.first[0].worth
    assert worth_together(recording, plan(recording)) == (worth.gain_peak_bytes, worth.gain_cpu_ns, False, True)


@pytest.mark.parametrize(("cpu_ns", "is_bound"), [(1e9, False), (1.0, True)])
def test_a_sum_is_a_bound_if_half_of_it_are_bounds(made: Handmade, cpu_ns: float, is_bound: bool) -> None:
    made.blocks(made.stack("node", "main"), 24, 24, total=100_000, peak=100_000)
    made.blocks(made.stack("leaf", "main"), 24, 24, total=50_000, peak=50_000)
    recording = made.recording()
    bound, other = plan(recording)
    assert bound.gain.cpu_at_least and other.gain.cpu_at_least
    estimate = other._replace(worth=other.worth._replace(gain_cpu_ns=cpu_ns, cpu_at_least=False))
    assert worth_together(recording, [bound, estimate]).cpu_at_least is is_bound
    assert not worth_together(recording, [estimate]).cpu_at_least


def test_growth_changes_every_copy_of_the_function(made: Handmade) -> None:
    first, often, other = (made.stack(line, "main") for line in ("append@a.c:1", "append@a.c:01", "read@a.c:9"))
    for stack in (first, often, other):
        made.blocks(stack, 64, 64, total=1000)
    made.chain(first, steps=300, slow_steps=0, grown_blocks=300)
    made.chain(often, steps=60_000, slow_steps=60_000, copied_bytes=100_000_000, max_requested_bytes=10_000)
    made.chain(other, steps=300, slow_steps=0, grown_blocks=300)
    assert [rule.size_id for rule in rule_of(made, "growth")] == [0, 1]


def rule_of(made: Handmade, lens: str) -> tuple[Rule, ...]:
    (planned,) = (each for each in plan(made.recording()) if each.finding.lens == lens)
    return planned.rules


def test_duplicates_are_left_out_by_their_share(looked_into: Handmade) -> None:
    (rule,) = rule_of(looked_into, "duplicates")
    # 300 blocks of 3 contents
    assert (rule.remedy, rule.share) == (Remedy.SHARE, pytest.approx(297 / 300))
    assert rule.bytes == 20


def test_contents_at_the_peak_are_those_of_the_blocks_that_ended(looked_into: Handmade) -> None:
    """The snapshot of the peak may have few of its blocks."""
    (before,) = rule_of(looked_into, "duplicates")
    row = looked_into.tables["site_sizes"][before.size_id]
    looked_into.tables["peak_contents"].append({
        "size_id": before.size_id, "stack_id": row["stack_id"], "requested_bytes": row["requested_bytes"], "content_class": "text",
        "blocks": 1000.0, "copies": 800.0, "contents": 50.0,
    })  # fmt: skip
    (rule,) = rule_of(looked_into, "duplicates")
    assert rule.share == pytest.approx(750 / 1000)


def test_what_is_no_call_has_a_reason() -> None:
    question = Question(None, (), (), None)  # type: ignore[arg-type]
    for lens in ("mappings", "unshared"):
        answer = simulate(lens, question)
        assert isinstance(answer, Unsimulated) and answer.reason
    assert isinstance(simulate("headers", question), Unsimulated)


@pytest.mark.parametrize(
    ("born_ns", "remedy", "more"),
    [
        (90_000_000, Remedy.SHARE, 0),  # built, and never changed
        (500_000, Remedy.FREE_AT, 400_000_001),  # changed long after the allocation
    ],
)
def test_hoards_go_when_they_were_last_written(made: Handmade, born_ns: int, remedy: Remedy, more: int) -> None:
    last_ns = 100_000_000 if remedy == Remedy.SHARE else 400_000_000
    lifetime_ns = (2_000_000_000 - born_ns) * 1000.0
    shape = made.blocks(
        made.stack("fill_cache", "main"), 4000, 4000, total=1000, peak=1000, end=1000, lifetime_ns=lifetime_ns
    )
    made.snapshot("exit", [(shape, 0x10000 + 4016 * i, {"last_write_ns": last_ns}) for i in range(1000)])
    (rule,) = rule_of(made, "hoards")
    assert rule == Rule(shape, remedy, 0, more, 1.0)


@pytest.mark.parametrize(("near_times", "rule"), [(3000.0, (Remedy.REUSE, 0)), (100.0, (Remedy.SHARE, 0.8))])
def test_contents_that_return_soon_are_reused(made: Handmade, near_times: float, rule: tuple[Remedy, float]) -> None:
    made.with_contents()
    stack = made.stack("format_date", "main")
    made.blocks(stack, 40, 40, total=5000, freed_within_16=5000)
    made.tables["recreated"].append(
        {"stack_id": stack, "digest": 1, "requested_bytes": 40, "times": 4000.0, "near_times": near_times, "contents": 3.0, "bytes": 160_000.0,
         "content_class": "text", "max_times": 100.0, "max_requested_bytes": 40}
    )  # fmt: skip
    (made_rule,) = rule_of(made, "recreated")
    assert (made_rule.remedy, made_rule.share) == rule


def test_every_lens_has_a_simulation_or_a_reason() -> None:
    question = Question(None, (), (), None)  # type: ignore[arg-type]
    for lens in lenses.NAMES:
        if lens in SIMULATIONS:
            continue
        answer = simulate(lens, question)
        assert isinstance(answer, Unsimulated) and "exists yet" not in answer.reason, (
            f"add {lens} to SIMULATIONS or, with the reason, to _NOT_CALLS in python/tare/proofs/simulations.py"
        )
