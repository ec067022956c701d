"""Ordinary programs of every system: what they print and how they end does not change when they are recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, assert_unharmed, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tare

PROGRAMS = {
    "status": ["sh", "-c", "echo out; echo err >&2; exit 7"],
    "signal": ["sh", "-c", "kill -SEGV $$"],
    "pipe": ["sh", "-c", "seq 10000 | sort -rn | head -3"],
    "python": ["python3", "-c", "import json, sys; print(json.dumps(sorted(sys.argv))); sys.exit(3)", "b", "a"],
    "awk": ["awk", 'BEGIN { for (i = 0; i < 20000; i++) a[i] = i "x"; print length(a) }'],
    "perl": ["perl", "-e", "my %h = map { $_ => [$_] } 1..20000; print scalar(keys %h), qq{\\n}; die qq{end\\n}"],
    "git": ["git", "--no-pager", "diff", "--no-index", "--stat", "/etc/passwd", "/etc/group"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_as_they_do_natively(tare: Tare, name: str) -> None:
    assert_unharmed(tare, PROGRAMS[name])


@pytest.mark.parametrize("mode", MODES)
def test_a_difference_is_found(tare: Tare, mode: str) -> None:
    """The comparison itself can fail: a program that looks for the recorder prints something else under it."""
    script = "case $LD_PRELOAD in *tare*) echo recorded;; *) echo alone;; esac"
    with pytest.raises(AssertionError):
        assert_unharmed(tare, ["sh", "-c", script], modes=[mode])


@pytest.mark.parametrize("mode", MODES)
def test_no_spool_is_left_behind(tare: Tare, shared_memory: Path, mode: str) -> None:
    """In a folder of its own: other recordings of this machine may be running."""
    command = ["sh", "-c", f"ls {shared_memory} | sort -r | cat"]
    outcome = recorded(tare, command, mode, env={"TARE_SPOOL_PARENT": str(shared_memory)})
    assert outcome.stdout.startswith(b"tare-")
    assert list(shared_memory.iterdir()) == []
