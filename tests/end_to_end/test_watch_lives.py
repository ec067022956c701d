"""Watched programs that fork, execute others, run into limits, or lose their file: they go on, and files are what they should be."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import watched
from tare.errors import TareError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Tare

    Build = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watch"
    made.mkdir()
    return made


@contextmanager
def running(folder: Path, *command: str | Path, sample: str = "16K") -> Iterator[subprocess.Popen[str]]:
    environment = watched.environment(folder, sample)
    process = subprocess.Popen([*map(str, command)], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_file(folder: Path, live: float = 1) -> Path:
    deadline = time.monotonic() + 60
    while True:
        found = watched.files(folder)
        if found and watched.facts(found[0])["live_bytes"] >= live:
            return found[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def near(tare: Tare, path: Path, expected: dict[str, float]) -> None:
    live = watched.live_by_site(tare, watched.trace_of(path))
    for site, size in expected.items():
        assert abs(live[site].bytes - size) <= 3 * live[site].error, (site, live[site], size)


def test_a_forked_child_begins_with_its_parents_blocks(tare: Tare, program: Build, folder: Path) -> None:
    done = watched.watched(folder, program("watched_forks.c"), "fork")
    child = folder / f"{done.stdout.strip()}.0.watch"
    (parent,) = set(watched.files(folder)) - {child}
    near(tare, parent, {"before_fork": 20000 * 1000})
    near(tare, child, {"before_fork": 10000 * 1000, "after_fork": 10000 * 504})
    facts = watched.facts(child)
    assert facts["parent_process_id"] == watched.facts(parent)["process_id"]
    assert 400 < facts["inherited"] < facts["live_samples"]
    assert watched.facts(parent)["inherited"] == 0
    # The parent's blocks aren't among the child's sums.
    assert facts["allocated_bytes"] - facts["freed_bytes"] == pytest.approx(10000 * 504, rel=0.15)


def test_exec_replaces_the_file(program: Build, folder: Path) -> None:
    built = program("watched.c")
    done = watched.watched(folder, program("watched_forks.c"), "exec", built, "20000")
    assert done.returncode == -signal.SIGKILL
    (path,) = watched.files(folder)
    assert watched.facts(path)["executable"] == str(built)
    assert not watched.facts(path)["ended"]


def test_an_exec_of_a_program_without_recorder_is_an_end(program: Build, folder: Path) -> None:
    watched.watched(folder, program("watched_forks.c"), "exec", program("watched.c", "-static"), "20000")
    (path,) = watched.files(folder)
    assert watched.facts(path)["ended"]


def test_a_failed_exec_is_no_end(program: Build, folder: Path) -> None:
    watched.watched(folder, program("watched_forks.c"), "failing-exec")
    (path,) = watched.files(folder)
    assert not watched.facts(path)["ended"]


@pytest.mark.parametrize("size", [0, 4096, 100_000, 3_000_000])
def test_a_file_that_is_cut_short_ends_the_recording_only(program: Build, folder: Path, size: int) -> None:
    with running(folder, program("watched.c"), "0", "2") as process:
        path = wait_for_file(folder, 3_000_000)
        os.truncate(path, size)
        assert process.stderr is not None
        assert select.select([process.stderr], [], [], 60)[0], "it printed nothing in a minute"
        printed = process.stderr.readline()
        assert process.poll() is None
        process.kill()
        printed += process.stderr.read()
        # It finds the cut when it touches a page, or when it makes the next page real.
        assert "was cut short by another program" in printed or "has no room for more" in printed
        assert printed.count("\n") == 1
    try:
        facts = watched.facts(path)
    except TareError as error:
        assert str(path) in str(error)
    else:  # all that was written is there
        assert size == 3_000_000 and facts["stopped"] == "the file system was full"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_deleted_file_harms_nobody(program: Build, folder: Path, what: str) -> None:
    with running(folder, program("watched.c"), "400000", "2", "end") as process:
        wait_for_file(folder).unlink()
        if what == "folder":
            folder.rmdir()
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("limit", ["-f 1000", "-f 0", "-v 80000"])
def test_limits_end_no_program(program: Build, folder: Path, limit: str) -> None:
    built = program("watched.c")
    done = watched.watched(folder, "sh", "-c", f"ulimit {limit}; exec {built} 20000 0 end", sample="4K")
    assert done.returncode == 0, done.stderr
    if limit.startswith("-f"):
        assert done.stderr.count("\n") == 1
        assert "files may not be as large as 4 MiB" in done.stderr
    # The shell's, which had no such limit when it began.
    assert all(watched.facts(path)["ended"] for path in watched.files(folder))


def test_a_missing_folder_is_reported_once(program: Build, tmp_path: Path) -> None:
    environment = watched.environment(tmp_path / "none")
    command = [str(program("watched.c")), "20000", "0", "end"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert f"no watch file can be made in {tmp_path}/none: no such folder" in done.stderr


def test_a_full_file_system_ends_the_recording_only(program: Build, folder: Path) -> None:
    script = (
        f"mount -t tmpfs -o size=128k none {folder} && {program('watched.c')} 300000 2 end; echo status $?;"
        f" ls {folder} | wc -l"
    )
    environment = watched.environment(folder, "1K", TARE_WATCH_KEEP="1")
    own = {name: environment.pop(name) for name in ("LD_PRELOAD", "TARE_WATCH", "TARE_SAMPLE")}
    variables = " ".join(f"{name}={value}" for name, value in own.items())
    script = script.replace(str(program("watched.c")), f"env {variables} {program('watched.c')}")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    if "permitted" in done.stderr:
        pytest.skip("mounting needs a right that is missing here")
    assert "status 0" in done.stdout, done.stderr
    assert done.stderr.count("tare: ") == 1, done.stderr


def test_threads_count_as_in_an_exact_recording(tare: Tare, program: Build, folder: Path) -> None:
    built = program("watched.c")
    watched.watched(folder, built, "60000", "4")
    (path,) = watched.files(folder)
    tare("run", "-q", "-o", "exact.tare", "--", built, "60000", "4")
    watched.check_sites(tare, path, tare.folder / "exact.tare", 4)
    assert watched.facts(path)["lost_events"] == 0


def test_a_running_process_can_be_read_at_any_time(program: Build, folder: Path) -> None:
    with running(folder, program("watched.c"), "0", "4", sample="4K") as process:
        path = wait_for_file(folder, 5_000_000)
        before = watched.facts(path)
        for _ in range(200):
            now = watched.facts(path)
            assert now["allocated_bytes"] >= before["allocated_bytes"]
            assert now["updated_ns"] >= before["updated_ns"]
            balance = now["allocated_bytes"] - now["freed_bytes"]
            assert abs(balance - now["live_bytes"]) < 0.02 * balance
            before = now
        assert process.poll() is None


def test_the_distance_doubles_when_there_are_too_many_samples(tare: Tare, program: Build, folder: Path) -> None:
    built = program("watched.c")
    watched.watched(folder, built, "300000", "2", sample="256")
    (path,) = watched.files(folder)
    facts = watched.facts(path)
    assert facts["first_sample_bytes"] == 256
    assert facts["sample_bytes"] >= 1024
    assert facts["live_samples"] <= facts["slots_total"]
    assert not facts["stopped"]
    tare("run", "-q", "-o", "exact.tare", "--", built, "300000", "2")
    watched.check_sites(tare, path, tare.folder / "exact.tare", 4)


def test_children_of_a_shell_each_have_a_file(folder: Path) -> None:
    allocate = f"{sys.executable} -c 'x = [bytearray(999) for i in range(9999)]; import os; os.kill(os.getpid(), 9)'"
    watched.watched(folder, "sh", "-c", f"({allocate}); ({allocate}); kill -9 $$")
    programs = sorted(Path(watched.facts(path)["executable"]).name for path in watched.files(folder))
    assert len([name for name in programs if name.startswith("python")]) == 2, programs
