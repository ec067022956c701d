"""Verdicts on a predicted change beside the real one, and their sums: the columns of `bench/proofs.py`.

RSS: within 20 % of the real change, or within 1 % of the peak. Calls: exact. CPU: the sign, and the amount within a factor of two. A change
of CPU whose pairs of runs differ in both directions has no sign: `noise`. A prediction that the report doesn't make is `none`, a miss.
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


class Verdict(NamedTuple):
    rss: str
    calls: str
    cpu_sign: str
    cpu_amount: str

    @property
    def is_miss(self) -> bool:
        return any(each not in (*MET, "noise") for each in self)


def real_of(compared: dict[str, Any], calls: float) -> Real:
    """`compared`: of `tare compare --json`."""
    before, after = (compared[name]["runs"] for name in ("before", "after"))

    def pairs(name: str) -> list[float]:
        return [b[name] - a[name] for a, b in zip(before, after, strict=True)]

    cpu = pairs("cpu")
    return Real(
        median(each["rss"] for each in before), median(pairs("rss")), median(cpu), min(cpu) > 0 or max(cpu) < 0, calls
    )


def judged(expected: Expected, real: Real) -> Verdict:
    off = abs((expected.peak_change or 0.0) - real.peak_change)
    rss = "yes" if off <= max(NEAR * abs(real.peak_change), NEAR_PEAK * real.peak_bytes) else "**no**"
    if expected.calls is None:
        calls = "none"
    else:
        wrong = expected.calls - real.calls
        calls = "exact" if wrong == 0 else f"**{wrong:+,.0f}**"
    return Verdict(rss, calls, *_cpu(expected.cpu_s, real))


def _cpu(expected_s: float | None, real: Real) -> tuple[str, str]:
    if not real.cpu_is_certain:
        return "noise", "noise"
    if expected_s is None:
        return "none", "none"
    if expected_s * real.cpu_s <= 0:
        return "**no**", "**no**"
    factor = expected_s / real.cpu_s
    return "yes", "yes" if 1 / CPU_FACTOR <= factor <= CPU_FACTOR else "**no**"


def summary(verdicts: Sequence[Verdict]) -> str:
    """`RSS within 20 % or 1 % of the peak: 12 of 17; ...`; changes within the noise don't count."""
    names = ("RSS within 20 % or 1 % of the peak", "calls exact", "sign of CPU", "CPU within a factor of two")
    return "; ".join(f"{name}: {_met(column)}" for name, column in zip(names, zip(*verdicts, strict=True), strict=True))


def _met(column: Iterable[str]) -> str:
    counts = Counter("met" if each in MET else "noise" if each == "noise" else "missed" for each in column)
    noise = f" ({counts['noise']} within the noise)" if counts["noise"] else ""
    return f"{counts['met']} of {counts['met'] + counts['missed']}{noise}"
