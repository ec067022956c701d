"""The Conan recipe: the package of all parts and of one, static and shared, with its test package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SOURCES = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src/lib", "packaging/conan")

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def conan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, with a home and a profile of its own."""
    folder = tmp_path_factory.mktemp("conan")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([folder / "venv/bin/pip", "install", "-q", "conan>=2,<3"], check=True)
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because the test package is built inside its sources."""
    copy = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, copy / name, ignore=shutil.ignore_patterns("build", "CMakeUserPresets.json"))
        else:
            shutil.copy(REPO / name, copy / name)
    return copy


def run(conan: Path, *arguments: str | Path) -> str:
    done = subprocess.run(
        [conan / "venv/bin/conan", *arguments],
        env={**os.environ, "CONAN_HOME": str(conan / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("options", [(), ("shared=True",), ("parts=core",)], ids=["all", "shared", "core"])
def test_package_builds_and_its_consumer_runs(conan: Path, tree: Path, options: tuple[str, ...]) -> None:
    if not (conan / "home/profiles/default").exists():
        run(conan, "profile", "detect")
    chosen = [word for option in options for word in ("-o", f"tare/*:{option}")]
    printed = run(conan, "create", tree / "packaging/conan", "-s", "compiler.cppstd=20", *chosen)
    assert "tare 0.1.0: an atom" in printed
    assert ("tare::gc" in printed) == (options != ("parts=core",))
