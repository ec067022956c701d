"""`tare attach` to programs that confine themselves by seccomp: recorded, or refused in one line and unharmed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attached import recorded, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare

    Build = Callable[..., Path]

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may read and suspend a program's filter")
SOURCES = f"-I{Path(__file__).resolve().parents[2] / 'src'}"


def assert_refused(tare: Tare, pid: int, reason: str, *prefix: str) -> None:
    """In one line, and before anything was loaded."""
    command = [*prefix, tare.command, "attach", str(pid), "-o", "n.tare", "--for", "0.1"]
    refused = subprocess.run(command, cwd=tare.folder, capture_output=True, text=True, timeout=120)
    assert refused.returncode != 0
    (line,) = refused.stderr.splitlines()
    assert reason in line
    assert "libtare-record" not in Path(f"/proc/{pid}/maps").read_text()
    assert not (tare.folder / "n.tare").exists()


@ONLY_ROOT
@pytest.mark.parametrize("kind", ["open", "narrow", "code"])
def test_a_program_with_a_seccomp_filter(tare: Tare, program: Build, kind: str) -> None:
    stop = tare.folder / kind
    with running(program("unprepared_filter.c"), kind, stop) as process:
        if kind == "open":
            assert recorded(tare, process.pid, "a.tare") > 20
        else:
            assert_refused(tare, process.pid, "seccomp filter would kill it for system call ")
        stop.touch()
        assert process.communicate(timeout=60)[0] != ""
        assert process.returncode == 0


@ONLY_ROOT
def test_a_filter_that_allows_only_the_known_calls(tare: Tare, program: Build) -> None:
    """The filter kills the program for each call of the recorder that isn't in its list."""
    stop = tare.folder / "stop"
    with running(program("unprepared_exact_filter.cc", "-std=c++20", SOURCES), stop) as process:
        for number in range(2):
            assert recorded(tare, process.pid, f"{number}.tare") > 20
        stop.touch()
        assert process.communicate(timeout=60)[0] != ""
        assert process.returncode == 0


@ONLY_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv isn't installed")
def test_a_filter_that_may_not_be_read(tare: Tare, program: Build) -> None:
    stop = tare.folder / "stop"
    with running(program("unprepared_filter.c"), "open", stop) as process:
        assert_refused(
            tare, process.pid, "only root may read", "setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"
        )
        stop.touch()
        assert process.communicate(timeout=60)[0] != ""
        assert process.returncode == 0


def test_a_program_in_strict_mode(tare: Tare, program: Build) -> None:
    with running(program("unprepared_strict.c"), stdin=subprocess.PIPE) as process:
        assert_refused(tare, process.pid, "strict mode")
        assert process.communicate("a line\n", timeout=60)[0] == "a line\n"
        assert process.returncode == 0
