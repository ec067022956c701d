"""Programs with one planted waste each, and without any: the list "do first" names the waste first, with its amount, or is empty.

Times aren't compared: bench/planted.py does that.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Tare

sys.path.append(str(Path(__file__).resolve().parents[3] / "bench"))

planted: Any = importlib.import_module("planted")  # a script, not a package

CASES = [pytest.param(case, id=case.name) for case in planted.cases()]


def test_there_are_twelve_wastes_and_six_programs_without() -> None:
    cases = planted.cases()
    assert sum(case.lens != "none" for case in cases) >= 12
    assert sum(case.lens == "none" for case in cases) >= 6


@pytest.mark.parametrize("case", CASES)
def test_the_list_begins_with_the_planted_waste(tare: Tare, case: Any) -> None:
    program = planted.build(case, tare.folder)
    report = tare.report(tare.record(program, options=tuple(case.options)))
    found = report["do_first"]["list"]
    if case.lens == "none":
        assert found == []
        return
    truth = int(subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()[0])
    if case.calls:  # their share of the run, which the list depends on, is another one on a busy machine
        first = next(each for each in report["findings"] if each["lens"] == case.lens)
        assert first["calls"] == pytest.approx(truth, rel=planted.NEAR)
        assert first["gain_cpu_ns"] > 0
    else:
        assert found and case.lens in found[0]["lenses"], found
        assert found[0]["gain_peak_bytes"] == pytest.approx(truth, rel=planted.NEAR)
