"""Fixtures that build the small programs and drive the installed `tare` command as a user would."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from browser import Browser

# Background jobs of a shell ignore Ctrl-C, and so would every command that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Readline, which pytest loads, sets both for workers of pytest-xdist. Commands behind a pipe are to print 120 columns.
os.environ.pop("COLUMNS", None)
os.environ.pop("LINES", None)

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # for what several tests share, random_types say
REPO = HERE.parent.parent


def tare_command() -> str:
    """The command under test: $TARE, or the one that `make build` leaves."""
    found = os.environ.get("TARE") or str(REPO / ".venv/bin/tare")
    if not Path(found).exists():
        pytest.exit(f"{found} doesn't exist: run `make build` first", returncode=2)
    return found


@dataclass
class Tare:
    """Runs the command in a folder of its own."""

    command: str
    folder: Path

    def __call__(
        self, *arguments: str | Path, timeout_s: float = 300, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.command, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=self.folder,
            env={**os.environ, **(env or {})},
        )

    def record(
        self,
        *program: str | Path,
        name: str = "t.tare",
        options: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> Path:
        """Records a program that must succeed; returns the trace."""
        done = self("run", "-o", name, *options, "--", *program, env=env)
        assert done.returncode == 0, done.stderr
        return self.folder / name

    def others(self, name: str) -> list[Path]:
        """The traces beside `name`: of other processes, and of images replaced by exec. Members of its container, too."""
        found: list[Path] = []
        for path in sorted(path for path in self.folder.glob(f"{name}.*") if path.is_file()):
            if path.suffix == ".short":
                found += [Path(member["path"]) for member in self.report(path)["members"]]
            else:
                found.append(path)
        return found

    def report(self, trace: Path, *options: str) -> dict[str, Any]:
        done = self("report", trace, "--json", *options)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def sql(self, trace: Path, query: str) -> list[dict[str, Any]]:
        done = self("sql", trace, query, "--json")
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows


@pytest.fixture
def tare(tmp_path: Path) -> Tare:
    return Tare(tare_command(), tmp_path)


@pytest.fixture(scope="module")
def tare_module(tmp_path_factory: pytest.TempPathFactory) -> Tare:
    """One folder for all tests of a module."""
    return Tare(tare_command(), tmp_path_factory.mktemp("module"))


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    """program("name.c", "-static") compiles a file of programs/ once a session and gives the executable."""
    folder = tmp_path_factory.mktemp("programs")

    def build(source: str, *flags: str) -> Path:
        out = folder / (Path(source).stem + "".join(flags).replace("/", "_"))
        if not out.exists():
            compiler = "gcc" if source.endswith(".c") else "g++"
            command = [compiler, "-O1", "-g", str(HERE / "programs" / source), "-o", str(out), "-lpthread", *flags]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return out

    yield build
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium with an empty profile; the page's errors fail the test."""
    from browser import Browser

    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        browser.look(width=1200, height=900)
        yield browser
        assert browser.problems == []
