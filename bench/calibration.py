"""Verdicts on a predicted change beside the real one, and their sums: the columns of `bench/proofs.py`.

RSS: within 20 % of the real change, or within 1 % of the peak. Calls: exact. CPU: the sign, and the amount within a factor of two. A change
of CPU whose pairs of runs differ in both directions has no sign: `noise`. A prediction that the report doesn't make is `none`, a miss. A gain that the
report shows as a lower bound ("at least", "≥") and that the program exceeds is `at least`: neither a miss nor met, and counted apart.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NEAR = 0.2
NEAR_PEAK = 0.01
CPU_FACTOR = 2.0
MET = ("yes", "exact")
AT_LEAST = "at least"


class Real(NamedTuple):
    """Measured: after - before of the unrecorded programs, and of one recorded run of each."""

    peak_bytes: float  # RSS of the program with the waste
    peak_change: float
    cpu_s: float
    cpu_is_certain: bool
    calls: float


class Expected(NamedTuple):
    """Changes. None: not predicted."""

    peak_change: float | None
    cpu_s: float | None
    calls: float | None
    peak_at_least: bool = False  # the report shows the gain as a lower bound
    cpu_at_least: bool = False


class Verdict(NamedTuple):
    rss: str
    calls: str
    cpu_sign: str
    cpu_amount: str

    @property
    def is_miss(self) -> bool:
        return any(each not in (*MET, AT_LEAST, "noise") for each in self)


def real_of(compared: dict[str, Any], calls: float, cpu_runs: int) -> Real:
    """`compared`: of `tare compare --json`. The RSS of a run without a change differs by up to 130 KiB, by the pages of files that were mapped at once:
    medians of all runs are compared. CPU has the first `cpu_runs` pairs."""
    before, after = (compared[name]["runs"] for name in ("before", "after"))
    peak = median(each["rss"] for each in before)
    cpu = [b["cpu"] - a["cpu"] for a, b in zip(before[:cpu_runs], after[:cpu_runs], strict=True)]
    return Real(peak, median(each["rss"] for each in after) - peak, median(cpu), min(cpu) > 0 or max(cpu) < 0, calls)


def judged(expected: Expected, real: Real) -> Verdict:
    off = abs((expected.peak_change or 0.0) - real.peak_change)
    rss = "yes" if off <= max(NEAR * abs(real.peak_change), NEAR_PEAK * real.peak_bytes) else "**no**"
    if rss != "yes" and _is_exceeded(expected.peak_change, real.peak_change, is_least=expected.peak_at_least):
        rss = AT_LEAST
    if expected.calls is None:
        calls = "none"
    else:
        wrong = expected.calls - real.calls
        calls = "exact" if wrong == 0 else f"**{wrong:+,.0f}**"
    return Verdict(rss, calls, *_cpu(expected.cpu_s, real, is_least=expected.cpu_at_least))


def _is_exceeded(expected: float | None, real: float, *, is_least: bool) -> bool:
    """A bound of nothing promises nothing."""
    return is_least and expected is not None and real < expected < 0


def _cpu(expected_s: float | None, real: Real, *, is_least: bool) -> tuple[str, str]:
    if not real.cpu_is_certain:
        return "noise", "noise"
    if expected_s is None:
        return "none", "none"
    if expected_s * real.cpu_s <= 0:
        return "**no**", "**no**"
    factor = expected_s / real.cpu_s
    if 1 / CPU_FACTOR <= factor <= CPU_FACTOR:
        return "yes", "yes"
    return "yes", AT_LEAST if _is_exceeded(expected_s, real.cpu_s, is_least=is_least) else "**no**"


def summary(verdicts: Sequence[Verdict]) -> str:
    """`RSS within 20 % or 1 % of the peak: 12 of 17, 2 more as lower bounds; ...`; changes within the noise don't count."""
    names = ("RSS within 20 % or 1 % of the peak", "calls exact", "sign of CPU", "CPU within a factor of two")
    return "; ".join(f"{name}: {_met(column)}" for name, column in zip(names, zip(*verdicts, strict=True), strict=True))


def _met(column: Iterable[str]) -> str:
    counts = Counter("met" if each in MET else each if each in ("noise", AT_LEAST) else "missed" for each in column)
    noise = f" ({counts['noise']} within the noise)" if counts["noise"] else ""
    more = f", {counts[AT_LEAST]} more as lower bounds" if counts[AT_LEAST] else ""
    return f"{counts['met']} of {counts['met'] + counts['missed'] + counts[AT_LEAST]}{more}{noise}"
