"""Every verb with wrong files, in poor locales and with closed outputs: one line and a status, never a Python traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

# {}: the wrong file; GOOD: a trace.
WITH_FILE = (
    "report {}",
    "report {} --json",
    "report GOOD --suppressions {} --json",
    "diff GOOD {}",
    "check {} --baseline GOOD",
    "check GOOD --baseline {}",
    "check GOOD --budget {}",
    "check GOOD --series {}",
    "check {} --budget GOOD",
    "sql {} .tables",
    "sql {} 'select 1'",
    "counts {}",
    "model {}",
    "replay {}",
    "export {} --to pprof",
    "export {} --to parquet -o tables",
    "tree {}",
    "layout {}",
    "layout --trace {}",
    "gc graph {}",
    "gc check -p {}",
    "variant dump {}",
    "clean --dry-run {}",
)
# Verbs that print something for a good trace.
OUTPUTS = (
    "--help",
    "report --help",
    "report GOOD",
    "report GOOD --json",
    "report GOOD --folded",
    "report GOOD --mode dark-matter",
    "tree GOOD",
    "counts GOOD",
    "model GOOD",
    "replay GOOD --allocator glibc --runs 1",
    "export GOOD --to speedscope",
    "export GOOD --to folded",
    "diff GOOD GOOD",
    "check GOOD --baseline GOOD",
    "sql GOOD .tables",
    "sql GOOD 'select * from process'",
    "schema",
    "completion bash",
    "run -o again.tare -- true",
)
LOCALES = (
    {"LC_ALL": "POSIX"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},  # ASCII
    {"PYTHONIOENCODING": "latin-1"},
)


@pytest.fixture(scope="module")
def files(tare_module: Tare) -> Path:
    """A good trace, and files that no verb can use."""
    folder = tare_module.folder
    tare_module.record("ls", "/", name="GOOD")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "text").write_text("shopping list\n")
    (folder / "binary").write_bytes(bytes(range(256)) * 64)
    (folder / "unreadable").symlink_to("unreadable")  # a loop, so that root can't read it either
    return folder


def run(tare: Tare, line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [tare.command, *shlex.split(line)],
        cwd=tare.folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def assert_no_bug(done: subprocess.CompletedProcess[bytes]) -> None:
    assert b"Traceback" not in done.stderr
    assert b"bug:" not in done.stderr
    assert done.returncode in (0, 1, 2, 3, 4, 5, 6), done.stderr


@pytest.mark.parametrize("name", ["empty", "folder", "text", "binary", "unreadable", "missing"])
@pytest.mark.parametrize("line", WITH_FILE)
def test_a_wrong_file_is_one_line_and_a_status(tare_module: Tare, files: Path, line: str, name: str) -> None:
    done = run(tare_module, line.replace("{}", name), LC_ALL="POSIX")
    if line.endswith("--series {}"):  # an empty or missing series is begun
        (files / "missing").unlink(missing_ok=True)
        (files / "empty").write_bytes(b"")
    assert_no_bug(done)
    if done.returncode > 1:
        assert done.stderr.startswith(b"tare: ")
        assert done.stderr.count(b"\n") == 1
        assert name.encode() in done.stderr or b"GOOD" in done.stderr


@pytest.mark.parametrize("environment", LOCALES, ids=str)
@pytest.mark.parametrize("line", OUTPUTS)
def test_any_encoding_will_do(tare_module: Tare, files: Path, line: str, environment: dict[str, str]) -> None:
    done = run(tare_module, line, **environment)
    assert_no_bug(done)
    assert done.returncode == 0, done.stderr
    if "8" not in environment.get("PYTHONUTF8", "8"):
        assert done.stdout.isascii() and done.stderr.isascii()


@pytest.mark.parametrize("line", OUTPUTS)
def test_a_closed_output_is_no_failure_of_tare(tare_module: Tare, files: Path, line: str) -> None:
    """`tare ... | head -0`, `tare ... >&-` and a full disk."""
    command = f"{shlex.quote(tare_module.command)} {line}"
    for shell, statuses in (
        (f"{command} | head -0; exit ${{PIPESTATUS[0]}}", (0, 141)),
        (f"{command} >&-", (0, 1)),
        (f"{command} >/dev/full", (0, 1, 4)),
    ):
        done = subprocess.run(["bash", "-c", shell], cwd=tare_module.folder, capture_output=True, timeout=120)
        assert b"Traceback" not in done.stderr and b"bug:" not in done.stderr, (shell, done.stderr)
        assert done.returncode in statuses, (shell, done.stderr)


def test_swapped_files_of_check_are_explained(tare_module: Tare, files: Path) -> None:
    (files / "tare.toml").write_text('[budget]\n"peak.gross_bytes" = "1G"\n')
    assert run(tare_module, "check GOOD --budget tare.toml").returncode == 0
    for line in ("check tare.toml --budget GOOD", "check tare.toml --baseline GOOD"):
        done = run(tare_module, line)
        assert_no_bug(done)
        assert done.returncode == 2
