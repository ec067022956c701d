"""The wheel of `make wheel-aarch64` under qemu's user mode: Debian's Python for arm64 runs it, and its recorder records a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SYSROOT = REPO / "build/aarch64-sysroot"
GOLDEN = REPO / "tests/trace/file/golden"
ENTRY_POINTS = REPO / "tests/recorder/programs/entry_points.c"
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
# In the order of the calls in entry_points.c.
REQUESTED = [1001, 1001, 1003, 1004, 1152, 1006, 1007, 1008, 1011, 1010, 100010, 2000011, 4000012, 1013, 1014]
# Names of functions come from the same files on both machines: under qemu, libraries are those of the sysroot.
ENVIRONMENT = {**os.environ, "COLUMNS": "120", "TARE_SYMBOLS": str(SYSROOT)}

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and its dependencies for arm64, which this machine's pip chooses by their names."""
    wheel = max((REPO / "dist").glob("heaptare-*_aarch64.whl"), default=None)
    if wheel is None:
        pytest.fail("dist has no wheel for aarch64: run `make wheel-aarch64` first")
    folder = tmp_path_factory.mktemp("site")
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    subprocess.run([*pip, "--python-version=3.11", *platforms, f"--target={folder}", wheel], check=True)
    return folder


def tare_there(site: Path, folder: Path, *arguments: str) -> str:
    """The output of the wheel's `tare` in `folder`."""
    python = ["qemu-aarch64", "-L", SYSROOT, SYSROOT / "usr/bin/python3.11"]
    environment = {**ENVIRONMENT, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [*python, "-m", "tare", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def tare_here(folder: Path, *arguments: str | Path) -> str:
    """The output of this machine's `tare` in `folder`."""
    tare = Path(sys.executable).with_name("tare")
    done = subprocess.run([tare, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def same_reports(trace: Path, site: Path, tmp_path: Path) -> str:
    """The report of both machines, each without the other's cache."""
    texts = []
    for machine in ("here", "there"):
        folder = tmp_path / f"report-{machine}"
        folder.mkdir()
        shutil.copy(trace, folder)
        if machine == "here":
            texts.append(tare_here(folder, "report", trace.name))
        else:
            texts.append(tare_there(site, folder, "report", trace.name))
    assert texts[0] == texts[1]
    return texts[0]


@pytest.mark.parametrize("name", ["v1-aarch64", "v1-observed", "v1-rich"])
def test_golden_traces_have_the_same_report_on_both_machines(name: str, site: Path, tmp_path: Path) -> None:
    assert same_reports(GOLDEN / f"{name}.tare", site, tmp_path)


def test_its_recorder_records_and_both_machines_report(site: Path, tmp_path: Path) -> None:
    program = tmp_path / "entry_points"
    clang = ["clang-19", "--target=aarch64-linux-gnu", f"--sysroot={SYSROOT}", "-fuse-ld=lld-19"]
    subprocess.run([*clang, "-g", "-O0", ENTRY_POINTS, "-o", program], check=True)
    # Without the preload of this machine, which would be the emulator's.
    preload = f"LD_PRELOAD={site / 'tare/libtare-record.so'}"
    emulated = ("env", "-u", "LD_PRELOAD", "qemu-aarch64", "-L", SYSROOT, "-E", preload, program)
    tare_here(tmp_path, "run", "-o", "a.tare", "--", *emulated)
    query = "select program, dropped_events, impossible_events, unwind_failures from process"
    assert json.loads(tare_here(tmp_path, "sql", "a.tare", query, "--json")) == [
        {"program": "entry_points", "dropped_events": 0, "impossible_events": 0, "unwind_failures": 0}
    ]
    blocks = json.loads(tare_here(tmp_path, "sql", "a.tare", "select requested_bytes from blocks", "--json"))
    assert sorted(block["requested_bytes"] for block in blocks) == sorted(REQUESTED)
    assert "entry_points.c:" in same_reports(tmp_path / "a.tare", site, tmp_path)
