"""Builds the programs of this folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("unharmed")  # failed comparisons of outcomes show both sides

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # unharmed.py, which all tests here share

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """build("name.c", "-static") compiles a file of programs/ once a session; build("plugin.cc", "-shared", "-fPIC") too.

    compiler="musl-gcc" selects another compiler. Flags that name files come after the source, so libraries work.
    """
    folder = tmp_path_factory.mktemp("unharmed")

    def make(source: str, *flags: str, compiler: str | None = None) -> Path:
        used = compiler or ("gcc" if source.endswith(".c") else "g++")
        name = "_".join([Path(source).stem, used, *flags]).replace("/", "_")[:200]
        out = folder / (name + (".so" if "-shared" in flags else ""))
        if not out.exists():
            command = [used, "-O1", "-g", "-pthread", str(HERE / "programs" / source), "-o", str(out), *flags]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return out

    yield make
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def shared_memory() -> Iterator[Path]:
    """A folder of a test's own on tmpfs."""
    folder = Path(tempfile.mkdtemp(prefix="test-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
