"""The Debian packages: built in a fresh Debian, clean by lintian, installed in another one, where their tests run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
BUILD_TOOLS = "build-essential,git,lintian"

pytestmark = pytest.mark.nightly


def debian(folder: Path, packages: str) -> Path:
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    # apt in the system installs packages, too: the lists that mmdebstrap fetched stay.
    kept = "--skip=cleanup/apt/lists"
    command = ["mmdebstrap", "--quiet", "--variant=apt", kept, f"--include={packages}", "bookworm", folder]
    subprocess.run(command, check=True)
    return folder


def inside(root: Path, command: str) -> str:
    """The output of a shell command in the system at `root`."""
    mounts = f'mount -t proc proc {root}/proc && mount --bind /dev {root}/dev && exec chroot {root} sh -ec "$0"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", mounts, command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of packages, of the last commit."""
    root = debian(tmp_path_factory.mktemp("build") / "root", BUILD_TOOLS)
    subprocess.run(["git", "clone", "--quiet", REPO, root / "tare"], check=True)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    inside(root, "apt-get build-dep -qq -y --no-install-recommends /tare/packaging > /dev/null")
    inside(root, "git config --global --add safe.directory '*' && /tare/packaging/debian/build.sh /out")
    printed = inside(
        root, "lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs /out/*.changes"
    )
    assert "W:" not in printed and "E:" not in printed
    return root / "out"


def test_all_packages_are_built(packages: Path) -> None:
    assert {path.name.split("_")[0] for path in packages.glob("*.deb")} >= {
        "libtare0.1",
        "libtare-dev",
        "tare-recorder",
        "tare-gvariant",
    }


def test_tests_of_the_packages_pass_in_another_system(packages: Path, tmp_path: Path) -> None:
    root = debian(tmp_path / "root", "cmake,g++,gcc,make,pkg-config,libglib2.0-dev")
    for name in ("libtare0.1", "libtare-dev", "tare-recorder", "tare-gvariant"):
        shutil.copy(next(packages.glob(f"{name}_*.deb")), root / "tmp")
    shutil.copytree(REPO / "packaging/debian/tests", root / "tests")
    inside(root, "apt-get install -qq -y --no-install-recommends /tmp/*.deb")
    for test in ("library", "recorder", "gvariant"):
        inside(root, f"/tests/{test}")
