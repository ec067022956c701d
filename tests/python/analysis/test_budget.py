"""Budgets: what is read, what breaks them, and what chance may do."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from handmade import Handmade
from tare.analysis import budget as budgets
from tare.analysis.budget import Noise, Rule
from tare.analysis.recording import Recording
from tare.errors import TareError
from tare.progress import Display, shown_by
from tare.reports import check_report
from tare.text.terminal import Style


class Warnings(Display):
    def __init__(self) -> None:
        self.said: list[str] = []

    def warn(self, message: str) -> None:
        self.said.append(message)


def recording(blocks: int, size: int = 1000, function: str = "parse_line") -> Recording:
    made = Handmade()
    made.blocks(made.stack(function, "main"), size, size, total=2 * blocks, peak=blocks, header=8)
    return made.recording()


def test_a_budget_file_is_read() -> None:
    text = {
        "budget": {
            "peak.gross_bytes": "12M",
            "total.blocks": 120_000,
            "lens.slop.bytes_peak": 100,
            "peak.tare_percent": 8.5,
        },
        "site": [{"function": "parse_*", "calls": 5}],
        "noise": {"headroom_percent": 3},
        "baseline": {"figures": ["end.blocks"]},
    }
    read = budgets.parse(text, "tare.toml")
    assert read.rules == [
        Rule("peak.gross_bytes", "", 12 << 20),
        Rule("total.blocks", "", 120_000),
        Rule("lens.slop.bytes_peak", "", 100),
        Rule("peak.tare_percent", "", 8.5),
        Rule("site.calls", "parse_*", 5),
    ]
    assert read.noise == Noise(headroom_percent=3)
    assert read.baseline_figures == ["end.blocks"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ({"budgets": {}}, "no table [budgets]"),
        ({"budget": {"peak.bytes": 1}}, "no figure 'peak.bytes'"),
        ({"budget": {"total.net_bytes": 1}}, "no figure 'total.net_bytes'"),
        ({"budget": {"lens.none.bytes_peak": 1}}, "no figure 'lens.none.bytes_peak'"),
        ({"budget": {"peak.gross_bytes": "much"}}, "'much'"),
        ({"budget": {"peak.gross_bytes": -1}}, ": -1"),
        ({"budget": {"peak.gross_bytes": True}}, ": True"),
        ({"site": [{"calls": 1}]}, "needs the function"),
        ({"site": [{"function": "f", "bytes": 1}]}, "no figure 'bytes'"),
        ({"noise": {"luck": 1}}, "[noise] has"),
    ],
)
def test_what_makes_no_sense_is_said(text: dict[str, object], said: str) -> None:
    with pytest.raises(TareError, match=r"tare\.toml: ") as raised:
        budgets.parse(text, "tare.toml")
    assert said in raised.value.message


def test_limits_are_exact() -> None:
    rules = budgets.parse({"budget": {"peak.gross_bytes": 100_800, "total.blocks": 199}}, "t")
    gross, blocks = budgets.check([recording(100)], [], rules)
    assert gross.kept
    assert not blocks.kept
    assert (blocks.actual, blocks.limit) == (200, 199)


def test_of_several_recordings_the_smallest_counts() -> None:
    rules = budgets.parse({"budget": {"peak.blocks": 100}}, "t")
    assert budgets.check([recording(120), recording(100), recording(110)], [], rules)[0].kept
    assert not budgets.check([recording(120), recording(101)], [], rules)[0].kept


def test_a_sites_figures_are_those_of_the_functions_that_fit() -> None:
    made = Handmade()
    for function, blocks in (("parse_line", 10), ("parse_word", 30), ("print", 500)):
        made.blocks(made.stack(function, "main"), 100, 100, total=blocks, peak=blocks)
    rules = budgets.parse({"site": [{"function": "parse_*", "calls": 39, "peak_gross_bytes": 40 * 108}]}, "t")
    calls, gross = budgets.check([made.recording()], [], rules)
    assert (calls.actual, calls.kept, calls.detail) == (40, False, "parse_word")
    assert gross.kept


def test_a_limit_on_a_site_that_never_allocated_is_an_error() -> None:
    site: dict[str, object] = {"function": "prase_*", "calls": 5}
    with pytest.raises(TareError, match=r"no function that fits 'prase_\*' names a site of made.tare.*may_be_absent"):
        budgets.check([recording(100)], [], budgets.parse({"site": [site]}, "t"))
    (verdict,) = budgets.check([recording(100)], [], budgets.parse({"site": [{**site, "may_be_absent": True}]}, "t"))
    assert verdict.kept and verdict.actual == 0


@pytest.mark.parametrize(("lens", "way"), [("leaks", "--snapshots"), ("unwritten", "--content")])
def test_a_limit_of_a_lens_that_did_not_run_is_an_error(lens: str, way: str) -> None:
    figure = f"lens.{lens}.bytes_peak"
    with pytest.raises(TareError, match=f"made.tare can't be held to {figure}: lens {lens} needs .*{way}"):
        budgets.check([recording(100)], [], budgets.parse({"budget": {figure: 5}}, "t"))
    with pytest.raises(TareError, match=f"can't be held to {figure}"):
        budgets.check([recording(100)], [recording(100)], budgets.parse({"baseline": {"figures": [figure]}}, "t"))


def snapshotted(seen: int) -> Recording:
    """100 equal blocks at the peak, of which a snapshot has so many."""
    made = Handmade()
    shape = made.blocks(made.stack("copy", "main"), 1000, 1000, total=100, peak=100)
    made.snapshot("peak", [(shape, 4096 + 1008 * i, {"digest": 1}) for i in range(seen)])
    return made.recording()


@pytest.mark.parametrize(("seen", "warned"), [(6, True), (95, False)])
@pytest.mark.parametrize("figure", ["lens.duplicates.bytes_peak", "peak.tare_percent"])
def test_a_limit_that_rests_on_little_of_the_peak_warns(figure: str, seen: int, warned: bool) -> None:
    warnings = Warnings()
    with shown_by(warnings):
        budgets.check([snapshotted(seen)], [], budgets.parse({"budget": {figure: "4G"}}, "t"))
    lines = [line for line in warnings.said if f"made.tare: {figure} is a lower bound" in line]
    assert bool(lines) is warned
    assert not warned or "a snapshot with 6.0% of the peak" in lines[0]


def test_tare_over_other_lenses_is_not_silently_left_out() -> None:
    figures: dict[str, object] = {"baseline": {"figures": ["peak.tare_bytes"]}}
    with pytest.raises(TareError, match=r"peak.tare_bytes can't be compared with the baseline: .*leaks.* didn't run"):
        budgets.check([recording(100)], [snapshotted(100)], budgets.parse(figures, "t"))
    warnings = Warnings()
    with shown_by(warnings):
        verdicts = budgets.check([recording(100)], [snapshotted(100)], budgets.NO_BUDGET)
    assert not [verdict for verdict in verdicts if "tare" in verdict.name]
    (line,) = warnings.said
    assert line.startswith("peak.tare_bytes isn't compared with the baseline: ")


@pytest.mark.parametrize(("blocks", "kept"), [(1000, True), (1015, True), (1050, False)])
def test_a_baseline_allows_for_chance_and_not_for_five_percent(blocks: int, kept: bool) -> None:
    verdicts = budgets.check([recording(blocks)], [recording(1000)], budgets.NO_BUDGET)
    by_name = {verdict.name: verdict for verdict in verdicts}
    assert by_name["peak.gross_bytes against the baseline"].kept is kept
    assert by_name["total.blocks against the baseline"].kept is kept
    assert by_name["total.blocks against the baseline"].baseline == 2000


def test_the_outcome_is_told(made: Handmade) -> None:
    rules = budgets.parse({"budget": {"peak.blocks": 5, "total.blocks": 500}}, "t")
    verdicts = budgets.check([recording(100)], [], rules)
    lines = list(check_report.lines(verdicts, Style(open("/dev/null")), 80, {}))  # noqa: SIM115
    assert lines == ["OVER peak.blocks: 100, allowed 5", "ok   total.blocks: 200, allowed 500", "1 over budget, 1 kept"]
    suite = ElementTree.fromstring(check_report.junit(verdicts, "a<b"))
    assert suite.attrib == {"name": "tare check", "tests": "2", "failures": "1"}
    assert [case.find("failure") is not None for case in suite] == [True, False]
    assert suite[0].attrib["classname"] == "tare.a<b"
