"""Generated programs of calls that a recorder could get wrong: those that one got wrong, and a course of others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES

REPO = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPO / "fuzz/programs"))

import compare  # noqa: E402
import generate  # noqa: E402

if TYPE_CHECKING:
    from conftest import Tare

# Each was wrong once; `make fuzz-programs` found it.
FOUND = {
    "a child's new thread makes the child's first event": "t698()k654(t69()a683)",
    "a child's new threads come before the thread that forked": "t733(m625)a836k177(t884()f468)",
    "a child's new threads come while the thread that forked begins the recording": "q331(t293(t563(l935)))",
    "they come at once, four of them": "k382(t866(t284(f822m648a307)))",
}
# Each operation that fewer than one script in ten has.
SELDOM = {
    "forks that the C library does not see": "q0(a5t3(a4)f5)q1(a4)q2(a4k1(a3))q3(t2(a5))",
    "stacks": "u5(a4d30(a7)u3(a1))j4(a5j3(a4)o2(u1(a3)))",
    "exec from vfork": "y3(a4t3(a1)y1(a2))",
    "limits": "n0k1(a4)n1q3(a4)n2n3n4n5n6n7t3(n0a4)e1(a4)",
    "prctl and filters": "P0P1P2P3P4P5b3b4k1(b5a4)",
    "memory shared with the kernel": "U3I4t3(U2I3z0z3l1)k1(U1I1)",
}
COURSE = range(16)


@pytest.fixture(scope="session")
def dangerous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compare.build(tmp_path_factory.mktemp("dangerous"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("script", FOUND.values(), ids=FOUND.keys())
def test_scripts_that_were_wrong_once(tare: Tare, dangerous: Path, script: str, mode: str) -> None:
    assert compare.difference(tare.command, dangerous, script, mode, tare.folder) == ""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("script", SELDOM.values(), ids=SELDOM.keys())
def test_scripts_of_seldom_calls(tare: Tare, dangerous: Path, script: str, mode: str) -> None:
    assert compare.native(dangerous, script, tare.folder) is not None  # the same each time
    assert compare.difference(tare.command, dangerous, script, mode, tare.folder) == ""


@pytest.mark.parametrize("seed", COURSE)
def test_scripts_of_a_fixed_course(tare: Tare, dangerous: Path, seed: int) -> None:
    mode = list(MODES)[seed % len(MODES)]
    assert compare.difference(tare.command, dangerous, generate.script(seed), mode, tare.folder) == ""


def test_a_program_that_is_changed_is_found(dangerous: Path, tmp_path: Path) -> None:
    """Beside a command that harms: what the program prints is changed."""
    harmful = tmp_path / "harmful"
    harmful.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\n"$@" | tr 0-7 1-8\n')
    harmful.chmod(0o755)
    assert compare.difference(str(harmful), dangerous, "a5a8f5", "plain", tmp_path).startswith("native")


def test_a_script_is_reduced_to_what_fails() -> None:
    assert generate.reduced("a5t3(k1(a4f2)m8)f5", lambda script: "m" in script) == "m8"
    assert generate.reduced("a5t3(k1(a4f2)m8)f5", lambda script: "t" in script and "f2" in script) == "t3(f2)"
