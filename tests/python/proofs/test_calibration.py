"""Verdicts of bench/proofs.py on predictions beside the real change."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "bench"))

calibration: Any = importlib.import_module("calibration")  # a module of the benches, not of a package

MIB = 1 << 20


def verdict(
    peak: float | None = -5.0 * MIB, cpu_s: float | None = -0.02, calls: float | None = -10, **real: Any
) -> Any:
    measured = {
        "peak_bytes": 100.0 * MIB,
        "peak_change": -5.0 * MIB,
        "cpu_s": -0.02,
        "cpu_is_certain": True,
        "calls": -10.0,
    }
    return calibration.judged(calibration.Expected(peak, cpu_s, calls), calibration.Real(**(measured | real)))


@pytest.mark.parametrize(
    ("peak", "real", "met"),
    [
        (-5.0, -5.0, True),
        (-4.0, -5.0, True),  # 20 % below
        (-3.9, -5.0, False),
        (-6.0, -5.0, True),
        (-6.1, -5.0, False),
        (0.0, -1.0, True),  # 1 % of the peak
        (0.0, -1.1, False),
        (None, 0.9, True),  # no prediction promises nothing
        (None, 1.1, False),
        (5.0, -5.0, False),
    ],
)
def test_rss_may_be_off_by_a_fifth_or_by_a_hundredth_of_the_peak(peak: float | None, real: float, met: bool) -> None:
    found = verdict(None if peak is None else peak * MIB, peak_change=real * MIB)
    assert (found.rss == "yes") is met


def test_calls_are_exact_or_a_difference() -> None:
    assert verdict().calls == "exact"
    assert verdict(calls=990).calls == "**+1,000**"
    assert verdict(calls=None).calls == "none"


@pytest.mark.parametrize(
    ("cpu_s", "real_s", "sign", "amount"),
    [
        (-0.02, -0.02, "yes", "yes"),
        (-0.01, -0.02, "yes", "yes"),
        (-0.04, -0.02, "yes", "yes"),
        (-0.009, -0.02, "yes", "**no**"),
        (-0.041, -0.02, "yes", "**no**"),
        (-0.02, 0.02, "**no**", "**no**"),
        (None, -0.02, "none", "none"),
    ],
)
def test_cpu_has_a_sign_and_an_amount(cpu_s: float | None, real_s: float, sign: str, amount: str) -> None:
    real = calibration.Real(100.0 * MIB, 0.0, real_s, True, 0.0)
    found = calibration.judged(calibration.Expected(0.0, cpu_s, 0.0), real)
    assert (found.cpu_sign, found.cpu_amount) == (sign, amount)
    assert found.is_miss is (amount != "yes")


def test_pairs_of_runs_that_differ_in_both_directions_are_noise() -> None:
    runs = {
        "before": {"runs": [{"rss": 100.0, "cpu": 0.10}, {"rss": 104.0, "cpu": 0.12}, {"rss": 102.0, "cpu": 0.11}]},
        "after": {"runs": [{"rss": 90.0, "cpu": 0.11}, {"rss": 90.0, "cpu": 0.10}, {"rss": 90.0, "cpu": 0.10}]},
    }
    real = calibration.real_of(runs, -7.0, cpu_runs=3)
    assert real == (102.0, -12.0, pytest.approx(-0.01), False, -7.0)
    found = calibration.judged(calibration.Expected(-12.0, -0.5, -7.0), real)
    assert found == ("yes", "exact", "noise", "noise")
    assert not found.is_miss


def test_rss_has_all_runs_and_cpu_the_first_pairs() -> None:
    """One run of small programs in five has 60 KiB more. The medians of pairs would differ by that."""
    runs = {
        "before": {"runs": [{"rss": rss, "cpu": 2.0} for rss in (100.0, 160.0, 100.0, 160.0, 100.0)]},
        "after": {"runs": [{"rss": rss, "cpu": cpu} for rss, cpu in ((160.0, 1.0), (100.0, 1.0), (160.0, 3.0), (100.0, 3.0), (100.0, 3.0))]},
    }  # fmt: skip
    assert calibration.real_of(runs, 0.0, cpu_runs=2)[:4] == (100.0, 0.0, -1.0, True)
    assert calibration.real_of(runs, 0.0, cpu_runs=5).cpu_is_certain is False


@pytest.mark.parametrize(
    ("expected_peak", "expected_cpu_s", "is_least", "rss", "amount"),
    [
        (-2.0, -0.005, True, "at least", "at least"),  # the program gains more
        (-2.0, -0.005, False, "**no**", "**no**"),  # not shown as bounds
        (-4.5, -0.015, True, "yes", "yes"),  # near enough
        (-8.0, -0.05, True, "**no**", "**no**"),  # the program gains less
        (0.0, -0.05, True, "**no**", "**no**"),  # promises nothing
        (2.0, -0.05, True, "**no**", "**no**"),
    ],
)
def test_a_lower_bound_that_is_exceeded_is_neither_met_nor_missed(
    expected_peak: float, expected_cpu_s: float, is_least: bool, rss: str, amount: str
) -> None:
    expected = calibration.Expected(expected_peak * MIB, expected_cpu_s, -10.0, is_least, is_least)
    found = calibration.judged(expected, calibration.Real(100.0 * MIB, -5.0 * MIB, -0.02, True, -10.0))
    assert (found.rss, found.cpu_amount) == (rss, amount)
    assert found.is_miss is (rss == "**no**")
    summed = calibration.summary([found, verdict()])
    assert ("RSS within 20 % or 1 % of the peak: 1 of 2, 1 more as lower bounds" in summed) is (rss == "at least")


def test_the_summary_counts_what_was_met() -> None:
    found = calibration.summary([verdict(), verdict(peak=0.0, cpu_s=None), verdict(cpu_is_certain=False)])
    assert found == (
        "RSS within 20 % or 1 % of the peak: 2 of 3; calls exact: 3 of 3; sign of CPU: 1 of 2 (1 within the noise); "
        "CPU within a factor of two: 1 of 2 (1 within the noise)"
    )
