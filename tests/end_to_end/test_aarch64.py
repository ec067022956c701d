"""A program for aarch64 under qemu's user mode, recorded by this machine's launcher. `make test-aarch64` builds it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

REPOSITORY = Path(__file__).parents[2]
BUILT = REPOSITORY / "build/aarch64"
SYSROOT = REPOSITORY / "build/aarch64-sysroot"
RECORDER = BUILT / "src/recorder/libtare-record.so"
PROGRAM = BUILT / "tests/recorder/programs/entry_points"

pytestmark = pytest.mark.skipif(
    not (RECORDER.exists() and PROGRAM.exists() and shutil.which("qemu-aarch64")), reason="make test-aarch64 builds it"
)

# In the order of the calls in entry_points.c.
REQUESTED = [1001, 1001, 1003, 1004, 1152, 1006, 1007, 1008, 1011, 1010, 100010, 2000011, 4000012, 1013, 1014]
LIVE_AT_THE_END = sum(REQUESTED) - 1010 - 2000011 - 1013 - 1014


def test_this_machines_launcher_records_it(tare: Tare) -> None:
    # Without the preload of this machine, which would be the emulator's; the program has one of its own.
    emulated = ("env", "-u", "LD_PRELOAD", "qemu-aarch64", "-L", SYSROOT, "-E", f"LD_PRELOAD={RECORDER}", PROGRAM)
    done = tare("run", "-o", "a.tare", "--", *emulated)
    assert done.returncode == 0, done.stderr
    trace = tare.folder / "a.tare"
    (process,) = tare.sql(trace, "select * from process")
    assert process["program"] == "entry_points"
    assert process["end_requested_bytes"] == LIVE_AT_THE_END
    assert process["impossible_events"] == process["dropped_events"] == process["unwind_failures"] == 0
    blocks = tare.sql(trace, "select requested_bytes from blocks order by 1")
    assert [block["requested_bytes"] for block in blocks] == sorted(REQUESTED)


def test_its_stacks_have_lines(tare: Tare) -> None:
    emulated = ("env", "-u", "LD_PRELOAD", "qemu-aarch64", "-L", SYSROOT, "-E", f"LD_PRELOAD={RECORDER}", PROGRAM)
    assert tare("run", "-o", "a.tare", "--", *emulated).returncode == 0
    report = tare("report", "a.tare")
    source = (REPOSITORY / "tests/recorder/programs/entry_points.c").read_text().splitlines()
    (line,) = (number for number, text in enumerate(source, 1) if "realloc(mapped, 4000012)" in text)
    assert f"main entry_points.c:{line} " in report.stdout
