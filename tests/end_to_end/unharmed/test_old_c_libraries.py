"""The recorder loads into programs with an older C library, and records them as exactly as with a new one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import MODES, outcome_of, sorted_lines

if TYPE_CHECKING:
    from conftest import Tare

PROGRAMS = Path(__file__).resolve().parent / "programs"
FLOOR = (2, 17)  # RHEL 7; all that is newer is looked up at run time: src/recorder/unwind/libc_entries.h


def package_of(tare: Tare) -> Path:
    """The folder with the recorder of the installed command."""
    (recorder,) = Path(tare.command).resolve().parent.parent.glob("lib/python3*/site-packages/tare/libtare-record.so")
    return recorder.parent


def test_no_reference_needs_a_newer_library_than_glibc_2_17(tare: Tare) -> None:
    """A weak reference counts as well: the loader refuses a library whose version names it doesn't find."""
    recorder = package_of(tare) / "libtare-record.so"
    listed = subprocess.run(["readelf", "-W", "--version-info", recorder], capture_output=True, text=True, check=True)
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", listed.stdout)}
    assert versions, listed.stdout
    assert max(versions)[:2] <= FLOOR
    needed = subprocess.run(["readelf", "-W", "-d", recorder], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"NEEDED.*\[(.+)\]", needed) == ["libc.so.6"]


@pytest.fixture(scope="module", params=["bullseye", "trixie"])
def other_root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root file system of another Debian (glibc 2.31, 2.41), with a compiler."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    root = tmp_path_factory.mktemp("root") / str(request.param)
    packages = "gcc,libc6-dev,python3"
    made = subprocess.run(
        ["mmdebstrap", "--variant=minbase", f"--include={packages}", str(request.param), root],
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        pytest.skip(f"mmdebstrap: {made.stderr[-300:]}")
    return root


def inside(root: Path, package: Path, *command: str | Path) -> list[str]:
    """The command with /dev/shm and the recorder visible below `root`; both mounts end with it."""
    mounts = (
        f"mkdir -p {root}{package} && mount --bind {package} {root}{package} && mount --bind /dev/shm {root}/dev/shm"
    )
    script = f'{mounts} && mount -t proc proc {root}/proc && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", *map(str, command)]


@pytest.mark.nightly
@pytest.mark.parametrize("mode", list(MODES))
def test_a_program_of_another_distribution_is_recorded_exactly(tare: Tare, other_root: Path, mode: str) -> None:
    package = package_of(tare)
    run: Callable[..., list[str]] = lambda *command: inside(other_root, package, *command)  # noqa: E731
    for source, flags in (
        ("plain_calls.c", "-pthread"),
        ("threads_in_turn.c", "-pthread"),
        ("two_processes.c", "-pthread"),
        ("many_stacks.c", ""),
    ):
        shutil.copy(PROGRAMS / source, other_root / "tmp")
        name = source.removesuffix(".c")
        subprocess.run(
            ["chroot", other_root, "sh", "-c", f"gcc -O1 -g {flags} /tmp/{source} -o /tmp/{name}"], check=True
        )
        command = ["chroot", other_root, f"/tmp/{name}", "1000"]
        native = outcome_of(run(*command), tare.folder)
        trace = tare.folder / f"{name}.tare"
        seen = outcome_of(run(tare.command, "run", "-q", *MODES[mode], "-o", trace, "--", *command), tare.folder)
        assert (seen.status, sorted_lines(seen.stdout), seen.stderr) == (
            native.status,
            sorted_lines(native.stdout),
            native.stderr,
        )
        (facts,) = tare.sql(
            trace,
            "select alloc_events, free_events, realloc_events, impossible_events, dropped_events, unwind_failures,"
            " threads from process",
        )
        assert (facts["impossible_events"], facts["dropped_events"], facts["unwind_failures"]) == (0, 0, 0)
        if mode != "sample" and name == "plain_calls":
            # 4 threads, 199 rounds of 5 mallocs, 4 frees and 2 reallocs, and the C library's own for threads and stdout
            assert facts["realloc_events"] == 4 * 199 * 2 - 4
            assert facts["threads"] == 5
        if mode != "sample" and name == "threads_in_turn":
            assert facts["threads"] == 1001
