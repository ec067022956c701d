"""Fixtures: a machine of files with a folder of watched processes, a clock that tests move, and a stand-in for the core's reader."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# At the end of the path, because other tests import another conftest.
sys.path.append(str(Path(__file__).resolve().parent))

from machine import Machine, read_facts, write_trace
from tare.watch import reader


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Watched files are JSON here, and recordings are text."""
    monkeypatch.setattr(reader, "facts_of", read_facts)
    monkeypatch.setattr(reader, "write_trace", write_trace)
    return Machine(tmp_path)
