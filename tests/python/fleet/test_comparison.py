"""Comparisons of two groups: what differs is found, what doesn't isn't, what moved is told from what came."""

from pathlib import Path

import pytest
from fleet_made import add, facts
from fleet_random import fill
from tare import cli
from tare.errors import TareError
from tare.fleet.comparison import Comparison, compare
from tare.fleet.facts import Facts
from tare.fleet.resampling import Side, shift, sides_of
from tare.fleet.significance import Group, discoveries, shares, welch
from tare.fleet.store import Store, condition

SEEDS = range(12)


def compared(store: Path, unit: str = "machine") -> Comparison:
    return compare(Store(store), [condition("build=1")], [condition("build=2")], "gross", unit, None)


def named(facts_: Facts, stacks: dict[int, str]) -> Facts:
    facts_.rows["sites"][:] = [
        (site, "ab" * 20, stack.split("\n")[0], "", "/bin/app", stack) for site, stack in stacks.items()
    ]
    return facts_


@pytest.mark.parametrize(
    ("t", "freedom", "expected"), [(2.228, 10, 0.05), (3.169, 10, 0.01), (1.96, 10000, 0.05), (0.7, 10, 0.5)]
)
def test_welch_has_the_values_of_tables_of_t(t: float, freedom: int, expected: float) -> None:
    """Two groups of equal size and variance: the degrees of freedom are 2 (n - 1)."""
    size = freedom // 2 + 1
    variance = size / 2 * (size - 1)  # sum of squares such that the error of the difference is 1
    groups = [Group(size, mean * size, variance + size * mean**2) for mean in (0.0, t)]
    assert welch(*groups) == pytest.approx(expected, rel=0.01)


def test_values_that_do_not_vary_prove_no_more_than_their_number() -> None:
    assert welch(Group(5, 0, 0), Group(5, 5, 5)) == pytest.approx(2 / 252)
    assert welch(Group(5, 5, 5), Group(5, 5, 5)) == 1.0


@pytest.mark.parametrize(("t", "freedom", "expected"), [(2.262, 9, 0.05), (3.250, 9, 0.01), (0.703, 9, 0.5)])
def test_shared_members_have_the_values_of_the_paired_test(t: float, freedom: int, expected: float) -> None:
    """Ten pairs, whose differences have a mean of t and a variance of 10: values vary by much more than the differences."""
    size = freedom + 1
    firsts = [100.0 * member for member in range(size)]
    noise = [(-1) ** member * (10 * (size - 1) / size) ** 0.5 for member in range(size)]
    seconds = [first + t + each for first, each in zip(firsts, noise, strict=True)]
    a, b = (Group(size, sum(values), sum(value**2 for value in values)) for values in (firsts, seconds))
    products = sum(first * second for first, second in zip(firsts, seconds, strict=True))
    covariance = (products - a.total * b.total / size) / (size - 1)
    assert welch(a, b, size, covariance) == pytest.approx(expected, rel=0.01)
    assert welch(a, b) > 0.9


def test_partly_shared_members_lie_between_the_paired_test_and_welchs() -> None:
    """By hand: errors 1 and 1, covariance 5 of 10 shared of 20 and 20: error 2 - 2 * 5 * 10 / 400, 9 + 29 * 20 / 40 degrees of freedom."""
    a, b = Group(20, 0.0, 380.0), Group(20, 40.0, 460.0)
    assert a.error == b.error == 1.0
    t = 2 / (2 - 0.25) ** 0.5
    freedom = 9 + (38 - 9) * 20 / 40
    found = welch(a, b, 10, 5.0)
    assert welch(a, b, 20, 15.0) < found < welch(a, b)
    assert found == pytest.approx(two_sided(t, freedom), rel=1e-3)


def two_sided(t: float, freedom: float) -> float:
    """Student's distribution by summing its density, far enough for three digits."""
    step = 1e-3
    density = [(1 + (step * (i + 0.5)) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(200_000)]
    inside = sum(density[: round(t / step)])
    return 1 - inside / sum(density)


def test_pairs_that_do_not_vary_prove_no_more_than_their_number() -> None:
    values = [float(n) for n in range(12)]
    a, b = (Group(12, sum(v + d for v in values), sum((v + d) ** 2 for v in values)) for d in (0, 1))
    assert welch(a, b, 12, 13.0) == 2 / 2**12
    assert welch(a, a, 12, 13.0) == 1.0


def test_discoveries_are_those_of_benjamini_and_hochberg() -> None:
    # The example of their paper (1995, section 3.2): four of fifteen at 0.05.
    ps = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0,
    ]
    assert discoveries(ps, 0.05) == {0, 1, 2, 3}
    assert discoveries([], 0.05) == set()


def test_a_weight_multiplies_the_rate_of_a_test() -> None:
    assert discoveries([0.03, 0.03], 0.05) == {0, 1}
    assert discoveries([0.03, 0.9], 0.05) == set()
    assert discoveries([0.03, 0.9], 0.05, [1.5, 0.5]) == {0}
    assert shares([30.0, 10.0, 0.0, 0.0]) == [2.0, 1.0, 0.5, 0.5]
    assert shares([0.0, 0.0]) == [1.0, 1.0]


@pytest.mark.slow
def test_equal_groups_differ_by_chance_only(tmp_path: Path) -> None:
    """Each seed is a store; with an error rate of 5 %, more than 3 of 12 have a chance of 0.2 %. Seeds are fixed."""
    wrong = 0
    for seed in SEEDS:
        fill(tmp_path / str(seed), seed)
        result = compared(tmp_path / str(seed))
        assert result.tested == 30
        wrong += result.found > 0
    assert wrong <= 2


@pytest.mark.slow
def test_growth_of_five_percent_is_named(tmp_path: Path) -> None:
    right = 0
    for seed in SEEDS:
        fill(tmp_path / str(seed), seed, growth=1.05)
        result = compared(tmp_path / str(seed))
        right += any(each.function == "f0" and each.kind == "grew" and each.mean.low > 0 for each in result.sites)
    assert right >= 11


@pytest.mark.slow
def test_machines_of_both_groups_are_compared_with_themselves(tmp_path: Path) -> None:
    """Machines differ by 30 %, so that other machines show nothing; growth of 5 % on the same ones is named, and equal groups aren't."""
    right = wrong = blind = 0
    for seed in SEEDS:
        for growth, shared in ((1.05, True), (1.0, True), (1.05, False)):
            store = tmp_path / f"{seed}-{growth}-{shared}"
            fill(store, seed, growth=growth, shared=shared, noise=0.3)
            result = compared(store)
            assert result.shared == (24 if shared else 0)
            grown = any(each.function == "f0" and each.kind == "grew" and each.mean.low > 0 for each in result.sites)
            right += grown and shared
            blind += grown and not shared
            wrong += result.found > 0 and growth == 1.0
    assert right >= 11
    assert wrong <= 2
    assert blind <= 3


def test_few_machines_of_both_groups_are_compared_as_others(tmp_path: Path) -> None:
    for machines, shared in ((11, 0), (12, 12)):
        fill(tmp_path / str(machines), 1, machines=machines, shared=True)
        assert compared(tmp_path / str(machines)).shared == shared


def test_draws_have_units_of_both_sides_together() -> None:
    before = {n: f"m{n:02}" for n in range(20)}
    after = {100 + n: f"m{n:02}" for n in range(5, 25)}
    old, new, shared = sides_of(before, after)
    assert (shared, old.units, new.units) == (15, 20, 20)
    assert all(one[:15] == other[:15] for one, other in zip(old.draws, new.draws, strict=True))
    assert all(sum(one[:15]) == 15 and sum(one[15:]) == 5 for one in old.draws)
    assert old.draws[1][15:] != new.draws[1][15:]
    # machine m05 is unit 0 on both sides
    assert (old.unit_of[5], new.unit_of[105]) == (0, 0)


def test_bytes_that_moved_between_callers_are_told_from_bytes_that_came(tmp_path: Path) -> None:
    stacks = {1: "alloc\nold_caller\nmain", 2: "alloc\nnew_caller\nmain", 3: "grow\nmain"}
    for machine in range(8):
        noise = machine * 3
        before = facts({1: 1000.0 + noise, 3: 500.0 + noise})
        after = facts({2: 1010.0 + noise, 3: 900.0 + noise})
        add(tmp_path, f"a{machine}", named(before, stacks), "1", f"m{machine}", bucket=0)
        add(tmp_path, f"b{machine}", named(after, stacks), "2", f"m{machine}", bucket=0)
    result = compared(tmp_path)
    assert {(each.function, each.kind, each.partner) for each in result.sites} == {
        ("alloc", "moved", "new_caller"),
        ("alloc", "moved", "old_caller"),
        ("grow", "grew", ""),
    }
    assert result.unmatched == pytest.approx((8084 / (8084 + 4084), 8164 / (8164 + 7284)), abs=1e-3)


def test_a_renamed_function_is_moved(tmp_path: Path) -> None:
    stacks = {1: "old_name\nmain", 2: "new_name\nmain"}
    for machine in range(6):
        for build, site in (("1", 1), ("2", 2)):
            made = named(facts({site: 1000.0}), stacks)
            add(tmp_path, f"{build}{machine}", made, build, f"m{machine}", bucket=0)
    assert {(each.function, each.partner) for each in compared(tmp_path).sites} == {
        ("old_name", "new_name"),
        ("new_name", "old_name"),
    }


def test_intervals_resample_machines_with_all_their_recordings() -> None:
    """Ten recordings of one machine are no more than one: the interval is as wide as that of one recording a machine."""
    one = [Side({m: f"{m}" for m in range(20)}, seed) for seed in (0, 1)]
    ten = [Side({m * 10 + i: f"{m:02}" for m in range(20) for i in range(10)}, seed) for seed in (0, 1)]
    narrow = [Side({m * 10 + i: f"{m:02}-{i}" for m in range(20) for i in range(10)}, seed) for seed in (0, 1)]

    def width(sides: list[Side], per: int) -> float:
        found = shift(sides[0], sides[1], {m * per + i: 100.0 + m for m in range(20) for i in range(per)})
        return found.high - found.low

    assert width(ten, 10) == pytest.approx(width(one, 1), rel=0.15)
    assert width(narrow, 10) < 0.5 * width(ten, 10)


def test_a_quantile_of_a_draw_counts_missing_values_as_zero() -> None:
    side = Side({number: f"{number}" for number in range(10)}, 0)
    assert side.figures({9: 5.0, 8: 3.0}, 0.9)[0] == 3.0
    assert side.figures({9: 5.0, 8: 3.0}, 0.5)[0] == 0.0
    assert side.figures({9: 5.0, 8: 3.0}, None)[0] == 0.8


@pytest.mark.slow
def test_twenty_machines_a_side_are_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(20):
        for build in "12":
            add(tmp_path, f"{build}-{number}", facts({1: 100.0 + number}), build, f"m{build}-{number}", bucket=0)
    assert not compared(tmp_path).has_few_units
    assert cli.main(["fleet", "diff", str(tmp_path), "--before", "build=1", "--after", "build=2"]) == 0
    assert "fewer than" not in capsys.readouterr().out


def test_too_few_machines_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(6):
        for build in "12":
            add(tmp_path, f"{build}{number}", facts({1: 100.0 * int(build) + number}), build, "ci", bucket=0)
    with pytest.raises(TareError, match="before has 1 machine, a comparison needs 5 on each side"):
        compared(tmp_path)
    assert compared(tmp_path, "recording").found == 1
    asked = ["fleet", "diff", str(tmp_path), "--before", "build=1", "--after", "build=2", "--unit", "recording"]
    assert cli.main(asked) == 0
    out = capsys.readouterr().out
    assert "1 site of 1 changed (gross bytes at the peak)" in out
    assert "With fewer than 20 recordings on a side" in out
    assert cli.main([*asked, "--json"]) == 0
    out = capsys.readouterr().out
    assert '"kind": "grew"' in out
    assert '"has_few_units": true' in out
    assert cli.main([*asked[:3], "--before", "build=1", "--after", "build=*"]) == 2
    assert "exclusive" in capsys.readouterr().err
