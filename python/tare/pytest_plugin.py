"""pytest plugin: tests that record a program and hold its heap to a budget.

def test_it_stays_small(tare_heap):
    heap = tare_heap("./app", "--flag")
    heap.check(**{"peak.gross_bytes": "12M", "total.blocks": 120_000})

@pytest.mark.tare_budget("tare.toml", baseline="main.tare")
def test_the_budget(tare_heap):
    tare_heap("./app", "--flag")
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tare.analysis.recording import Recording


_PASSED = pytest.StashKey[bool]()


@dataclass
class Heap:
    """The recording of one run of a program."""

    trace: Path
    stdout: str
    stderr: str
    _recording: list[Recording] = field(default_factory=list)

    @property
    def recording(self) -> Recording:
        if not self._recording:
            from tare.analysis.recording import Recording
            from tare.source.core_source import CoreSource

            self._recording.append(Recording(CoreSource(str(self.trace))))
        return self._recording[0]

    def figure(self, name: str) -> float:
        """`peak.gross_bytes`, `lens.slop.bytes_peak`: as in a budget."""
        from tare.analysis import budget

        return budget.figure(self.recording, name)

    def check(self, budget: str | Path | None = None, baseline: str | Path | None = None, **limits: Any) -> None:
        """Fails the test where a limit is exceeded: of a budget file, of a baseline's trace, or named here."""
        from tare.analysis import budget as budgets
        from tare.analysis.recording import Recording
        from tare.reports.check_report import sentence
        from tare.source.core_source import CoreSource

        wanted = budgets.read(str(budget)) if budget else budgets.NO_BUDGET
        wanted = wanted._replace(rules=[*wanted.rules, *budgets.parse({"budget": limits}, "check()").rules])
        baselines = [Recording(CoreSource(str(baseline)))] if baseline else []
        broken = [verdict for verdict in budgets.check([self.recording], baselines, wanted) if not verdict.kept]
        if broken:
            pytest.fail("over budget:\n" + "\n".join(map(sentence, broken)), pytrace=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("tare").addoption(
        "--tare-fail-on-increase",
        action="store_true",
        help="fail tests whose recorded programs use more heap than in the last run that passed",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":  # type: ignore[attr-defined]
        item.stash[_PASSED] = report.passed  # type: ignore[attr-defined]
    return report


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "tare_budget(budget, baseline=None): what every program that tare_heap records is held to"
    )


def _check_increase(heap: Heap, key: str, config: pytest.Config) -> dict[str, float]:
    """Fails where a figure is greater than it was; gives the figures."""
    from tare.analysis import budget as budgets
    from tare.reports.check_report import sentence

    noise = budgets.NO_BUDGET.noise
    figures = {name: heap.figure(name) for name in budgets.BASELINE_FIGURES}
    before: dict[str, float] = config.cache.get(key, {}) if config.cache else {}
    broken = []
    for name, now in figures.items():
        if name in before:
            verdict = budgets.Verdict(name, now, budgets.allowed(before[name], name, noise), before[name], "")
            broken += [] if verdict.kept else [verdict]
    if broken:
        text = "\n".join(map(sentence, broken)).replace("the baseline", "the last good run")
        pytest.fail(f"more heap than in the last good run:\n{text}", pytrace=False)
    return figures


@pytest.fixture
def tare_heap(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Heap]]:
    """tare_heap("./app", "--flag") records a program that must succeed."""
    marker = request.node.get_closest_marker("tare_budget")
    made: list[Heap] = []
    figures: dict[str, dict[str, float]] = {}

    def record(*command: str | Path, **options: Any) -> Heap:
        trace = tmp_path / f"heap{len(made)}.tare"
        done = subprocess.run(
            [sys.executable, "-m", "tare", "run", "-q", "-o", str(trace), "--", *map(str, command)],
            capture_output=True,
            text=True,
            **options,
        )
        if done.returncode != 0:
            pytest.fail(f"{command[0]} ended with {done.returncode}:\n{done.stderr}", pytrace=False)
        heap = Heap(trace, done.stdout, done.stderr)
        made.append(heap)
        if marker is not None:
            heap.check(*marker.args, **marker.kwargs)
        if request.config.getoption("--tare-fail-on-increase"):
            key = f"tare/{request.node.nodeid}/{len(made)}"
            figures[key] = _check_increase(heap, key, request.config)
        return heap

    yield record
    if request.node.stash.get(_PASSED, False) and request.config.cache:
        for key, values in figures.items():
            request.config.cache.set(key, values)
