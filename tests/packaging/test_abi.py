"""The check of the binary interface fails for changes that break compiled programs, and for no others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
MEMBER = "  std::size_t large_count_ = 0;  // of these\n"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("abidiff") is None, reason="abigail-tools isn't installed"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("abi") / "tare"
    archive = subprocess.run(["git", "-C", str(REPO), "archive", "HEAD"], capture_output=True, check=True).stdout
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


def check(copy: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([copy / "tools/check_abi.sh"], capture_output=True, text=True, timeout=900)


def test_the_sources_have_the_interface_of_their_version(copy: Path) -> None:
    done = check(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "programs that were compiled with 0.1 run with this library" in done.stdout


@pytest.mark.parametrize("change", [MEMBER + "  bool is_new_ = false;\n", ""], ids=["a member more", "a member less"])
def test_a_changed_layout_fails(copy: Path, change: str) -> None:
    header = copy / "include/tare/arena.h"
    before = header.read_text()
    assert MEMBER in before
    header.write_text(before.replace(MEMBER, change or "  static inline std::size_t large_count_ = 0;\n"))
    try:
        done = check(copy)
    finally:
        header.write_text(before)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Arena" in done.stdout
    assert "the binary interface changed" in done.stderr


def test_a_new_function_passes(copy: Path) -> None:
    header, source = copy / "include/tare/arena.h", copy / "src/lib/arena/arena.cc"
    texts = header.read_text(), source.read_text()
    header.write_text(
        texts[0].replace(
            "  void swap(Arena& other) noexcept;\n",
            "  void swap(Arena& other) noexcept;\n  int added() const noexcept;\n",
        )
    )
    source.write_text(
        texts[1].replace("void Arena::swap(", "int Arena::added() const noexcept { return 1; }\n\nvoid Arena::swap(", 1)
    )
    try:
        done = check(copy)
    finally:
        header.write_text(texts[0])
        source.write_text(texts[1])
    assert done.returncode == 0, done.stdout + done.stderr
