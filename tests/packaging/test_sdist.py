"""The source distribution has everything that its build reads: pip builds from it alone, without the repository."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
NEEDED = ("src", "include", "python", "cmake", "docs/man", "CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")
LEFT_OUT = ("tests", "fuzz", "bench", "guide", "demo", "build", ".ci")

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The unpacked distribution in a folder of its own, and what its build printed."""
    folder = tmp_path_factory.mktemp("sdist")
    build = f"import scikit_build_core.build as b; print(b.build_sdist({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", build], cwd=REPO, capture_output=True, text=True, check=True)
    with tarfile.open(next(folder.glob("heaptare-*.tar.gz"))) as packed:
        packed.extractall(folder, filter="data")
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked, done.stdout + done.stderr


def test_building_it_prints_no_warning(built: tuple[Path, str]) -> None:
    assert "WARNING" not in built[1] and "deprecated" not in built[1]


def test_it_has_each_file_that_the_build_may_read(built: tuple[Path, str]) -> None:
    listed = subprocess.run(
        ["git", "-C", REPO, "ls-files", "-z", *NEEDED], capture_output=True, text=True, check=True
    ).stdout
    names = [name for name in listed.split("\0") if name]
    assert len(names) > 500
    assert [name for name in names if not (built[0] / name).is_file()] == []
    assert [name for name in LEFT_OUT if (built[0] / name).exists()] == []


def test_cmake_configures_it_and_knows_a_rule_for_each_file(built: tuple[Path, str], tmp_path: Path) -> None:
    """All but the compilation: ninja plans it, which fails if a source is missing."""
    options = ["-DTARE_BUILD_BINDINGS=ON", "-DTARE_BUILD_TESTS=OFF", "-DTARE_UNITY_BUILD=ON"]
    configure = ["cmake", "-G", "Ninja", "-S", built[0], "-B", tmp_path, f"-DPython_EXECUTABLE={sys.executable}"]
    done = subprocess.run([*configure, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    targets = ["_core", "tare-measure", "tare-perform", "tare-record"]
    planned = subprocess.run(["ninja", "-n", "-C", tmp_path, *targets], capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stdout
    assert "Linking CXX shared module" in planned.stdout
