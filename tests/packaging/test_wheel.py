"""The wheel of `make wheel` in fresh Debian systems without a compiler: pip installs it, and it records and reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
SYSTEMS = {"bookworm": "3.11", "trixie": "3.13"}

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="session")
def wheel() -> Path:
    found = sorted((REPO / "dist").glob("heaptare-*.whl"))
    if not found:
        pytest.fail("dist has no wheel: run `make wheel` first")
    return found[-1]


def test_one_wheel_serves_all_pythons_and_old_c_libraries(wheel: Path) -> None:
    assert re.fullmatch(
        r"heaptare-[\d.]+-cp310-abi3-(manylinux_2_\d\d_x86_64\.)*manylinux_2_28_x86_64\.whl", wheel.name
    )


def test_each_binary_needs_at_most_the_promised_c_library(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    floors = {}
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            listed = subprocess.run(["readelf", "-W", "-V", path], capture_output=True, text=True, check=True).stdout
            versions = [tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", listed)]
            floors[path.name] = max(versions, default=(0,))
            needed = subprocess.run(["readelf", "-W", "-d", path], capture_output=True, text=True, check=True).stdout
            assert "libstdc++" not in needed, path.name
    assert {"_core.abi3.so", "libtare-record.so", "tare-perform", "tare-measure"} <= floors.keys()
    assert floors["libtare-record.so"] <= (2, 17)
    assert max(floors.values()) <= (2, 28), floors


@pytest.fixture(scope="module", params=list(SYSTEMS))
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A fresh Debian with Python, and the wheel with its dependencies in /wheels."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    suite = str(request.param)
    folder = tmp_path_factory.mktemp("root") / suite
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-venv", suite, folder], check=True
    )
    wheels = folder / "wheels"
    wheels.mkdir()
    shutil.copy(wheel, wheels)
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    download = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
    ]
    version = f"--python-version={SYSTEMS[suite]}"
    subprocess.run(
        [*download, version, "--dest", wheels, *platforms, "duckdb>=1.1", "nanobind-backend>=1,<2"], check=True
    )
    return folder


def inside(root: Path, command: str) -> str:
    """The output of a shell command in the system at `root`."""
    mounts = f'mount --bind /dev/shm {root}/dev/shm && mount -t proc proc {root}/proc && exec chroot {root} sh -ec "$0"'
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", mounts, command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pip_installs_it_without_a_compiler_and_it_reports(root: Path) -> None:
    inside(
        root, "! command -v cc && python3 -m venv /v && /v/bin/pip install -q --no-index --find-links /wheels heaptare"
    )
    recorded = inside(root, "cd /tmp && /v/bin/tare run -o sort.tare -- sort -o sorted /usr/bin/python3 2>&1")
    assert "sort.tare" in recorded
    assert json.loads(inside(root, "/v/bin/tare report /tmp/sort.tare --json"))["account"]["peak_rss_bytes"] > 0
    query = "select alloc_events > 0 as recorded, impossible_events, unwind_failures from process"
    assert json.loads(inside(root, f"/v/bin/tare sql /tmp/sort.tare '{query}' --json")) == [
        {"recorded": True, "impossible_events": 0, "unwind_failures": 0}
    ]
    assert inside(root, "/v/bin/tare replay /tmp/sort.tare --json")  # by an executable of the wheel
