"""cibuildwheel accepts its settings in pyproject.toml, and builds one wheel for each machine and C library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
# The one that .github/workflows/wheels.yml runs.
VERSION = "cibuildwheel==4.3.5"

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def cibuildwheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cibuildwheel")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", VERSION], check=True)
    return folder / "bin/cibuildwheel"


def test_the_workflow_runs_this_version() -> None:
    assert f"pipx run {VERSION}\n" in (REPO / ".github/workflows/wheels.yml").read_text()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_it_builds_for_glibc_and_musl(machine: str, cibuildwheel: Path) -> None:
    command = [cibuildwheel, "--platform", "linux", "--archs", machine, "--print-build-identifiers", REPO]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"cp310-manylinux_{machine}", f"cp310-musllinux_{machine}"]
