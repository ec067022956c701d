"""Gross = net + tare to the byte, whatever lenses are asked, and net is never negative: on real programs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tare import lenses
from tare.analysis.recording import Recording
from tare.source.core_source import CoreSource

if TYPE_CHECKING:
    from conftest import Tare

PROGRAMS = (
    ("python3", "-c", "import json; print(len(json.dumps([{'id': i} for i in range(3000)])))"),
    ("sort", "/etc/services"),
    ("git", "--version"),
)


@pytest.mark.parametrize("command", PROGRAMS, ids=lambda command: command[0])
def test_any_choice_of_lenses_adds_up(tare: Tare, command: tuple[str, ...]) -> None:
    source = CoreSource(str(tare.record(*command, options=("-q", "--content"))))
    weighed = [name for name in lenses.NAMES if lenses.load(name).weight == "tare"]
    most = 0.0
    for size in (0, 1, 2, len(weighed)):
        for chosen in itertools.combinations(weighed, size):
            recording = Recording(source, (*chosen, "churn", "twins", "wide-pointers", "hoards"))
            for name in ("peak", "end"):
                moment = recording.moments[name]
                assert moment.tare_bytes is not None and moment.net_bytes is not None
                assert (
                    moment.gross_bytes
                    == moment.net_bytes + moment.tare_bytes
                    == source.process()[f"{name}_gross_bytes"]
                )
                assert 0 <= moment.net_bytes <= moment.gross_bytes
            most = max(most, recording.moments["peak"].tare_bytes or 0.0)
    assert most > 0
