"""The wheel of `make wheel` in fresh Debian systems without a compiler: pip installs it, and it records and reports.

The files of the wheel for aarch64 are checked as well, if `make wheel-aarch64` has built it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
SYSTEMS = {"bookworm": "3.11", "trixie": "3.13"}

pytestmark = pytest.mark.nightly


def newest_wheel(machine: str) -> Path | None:
    return max((REPO / "dist").glob(f"heaptare-*_{machine}.whl"), default=None)


@pytest.fixture(scope="session")
def wheel() -> Path:
    found = newest_wheel(platform.machine())
    if found is None:
        pytest.fail("dist has no wheel: run `make wheel` first")
    return found


@pytest.fixture(scope="session", params=list(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if newest_wheel(name) is None:
        if name == platform.machine():
            pytest.fail("dist has no wheel: run `make wheel` first")
        pytest.skip(f"`make wheel-{name}` builds it")
    return name


@pytest.fixture(scope="session")
def unpacked(machine: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(machine)
    found = newest_wheel(machine)
    assert found is not None
    with zipfile.ZipFile(found) as packed:
        packed.extractall(folder)
    return folder


def test_one_wheel_serves_all_pythons_and_old_c_libraries(machine: str, unpacked: Path) -> None:
    found = newest_wheel(machine)
    assert found is not None
    # auditwheel names older C libraries, too, where the binaries need no more.
    name = re.fullmatch(
        rf"heaptare-[\d.]+-cp310-abi3-((manylinux_2_\d\d_{machine}\.)*manylinux_2_(17|2[4-8])_{machine})\.whl",
        found.name,
    )
    assert name, found.name
    (stated,) = unpacked.glob("*.dist-info/WHEEL")
    tags = re.findall(r"^Tag: (.+)$", stated.read_text(), re.MULTILINE)
    assert sorted(tags) == sorted(f"cp310-abi3-{tag}" for tag in name[1].split("."))


def test_its_record_has_each_file_with_its_digest(unpacked: Path) -> None:
    (record,) = unpacked.glob("*.dist-info/RECORD")
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    rows = list(csv.reader(record.read_text().splitlines()))
    assert sorted(row[0] for row in rows) == sorted(files)
    for path, digest, size in rows:
        if path != str(record.relative_to(unpacked)):
            contents = (unpacked / path).read_bytes()
            hashed = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={hashed}", str(len(contents))), path


def test_each_binary_needs_at_most_the_promised_c_library(machine: str, unpacked: Path) -> None:
    floors = {}
    for path in sorted(unpacked.rglob("*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            header = subprocess.run(["readelf", "-h", path], capture_output=True, text=True, check=True).stdout
            assert re.search(rf"Machine: +{MACHINES[machine]}\n", header), path.name
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
