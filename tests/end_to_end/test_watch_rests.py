"""A watched process that `tare attach` records exactly for a while: the watch goes on after it, and has what happened meanwhile."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import watched
from commanded import Commanded, blocks_of, facts, started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Tare

    Build = Callable[..., Path]

NONE = None
BY_SIZE = """
select requested_bytes as size, sum(weight) as blocks, max(f.function) as site
from blocks b join stack_sites s on s.stack_id = b.alloc_stack_id join sites using (site_id)
     left join frames f on f.location_id = sites.site_location_id and f.inline_depth = 0
where b.freed_ns is null and requested_bytes >= 60000 group by 1 order by 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watch"
    made.mkdir()
    return made


def until(program: Commanded, file: Path, fact: str) -> None:
    """An order is followed at the next allocation."""
    deadline = time.monotonic() + 60
    while not watched.facts(file)[fact]:
        assert time.monotonic() < deadline
        program.tell("pair 4321")
        time.sleep(0.02)


@contextmanager
def exact(tare: Tare, program: Commanded, trace: str) -> Iterator[None]:
    """While the program is recorded exactly."""
    command = [tare.command, "attach", str(program.pid), "-q", "-o", trace]
    launcher = subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.PIPE, text=True)
    try:
        until(program, watched.files(tare.folder / "watch")[0], "rests")
        yield
        if program.process.poll() is None:
            launcher.send_signal(signal.SIGINT)
        assert launcher.wait(120) == 0, launcher.communicate()
    finally:
        launcher.kill()
        launcher.wait()


def live(tare: Tare, file: Path) -> dict[int, tuple[float, str | None]]:
    """Blocks by size, and their site. Each is sampled with certainty: it has 60 times the distance."""
    rows: list[dict[str, Any]] = tare.sql(watched.trace_of(file), BY_SIZE)
    return {row["size"]: (round(row["blocks"], 6), row["site"]) for row in rows}


def test_the_watch_goes_on_after_an_exact_recording(tare: Tare, program: Build, folder: Path) -> None:
    environment = watched.environment(folder, "1K")
    with started([program("commanded.c")], tare.folder, environment, recorded=False) as process:
        process.tell("make 50 70000")
        (file,) = watched.files(folder)
        assert live(tare, file) == {70000: (50, "make")}
        with exact(tare, process, "first.tare"):
            process.tell("drop", "make 30 80000")
            assert watched.facts(file)["rests"] and not watched.facts(file)["stopped"]
            assert live(tare, file) == {80000: (30, NONE)}
        process.tell("make 20 90000")
        assert "stacks of blocks that were allocated while `tare attach`" in " ".join(
            tare("report", watched.trace_of(file)).stdout.split()
        )
        assert not watched.facts(file)["rests"]
        assert live(tare, file) == {80000: (30, NONE), 90000: (20, "make")}
        with exact(tare, process, "second.tare"):
            process.tell("grow 100000")
            assert live(tare, file) == {100000: (50, NONE)}
        process.tell("grow 110000", "make 1 120000")
        assert live(tare, file) == {110000: (50, "grow"), 120000: (1, "make")}
        process.tell("drop")
        assert live(tare, file) == {}
        assert watched.facts(file)["lost_events"] == 0
        process.end()
        assert not file.exists()
    for trace, size, count in (("first.tare", 80000, 30), ("second.tare", 100000, 50)):
        assert blocks_of(tare, tare.folder / trace, size)["live"] == count
        assert facts(tare, tare.folder / trace)["impossible_events"] == 0


def test_an_exit_during_an_exact_recording_deletes_the_file(tare: Tare, program: Build, folder: Path) -> None:
    environment = watched.environment(folder, "1K")
    with started([program("commanded.c")], tare.folder, environment, recorded=False) as process:
        process.tell("make 5 70000")
        with exact(tare, process, "t.tare"):
            process.end()
        assert watched.files(folder) == []


def test_the_watch_goes_on_after_the_launcher_was_killed(tare: Tare, program: Build, folder: Path) -> None:
    environment = watched.environment(folder, "1K")
    with started([program("commanded.c")], tare.folder, environment, recorded=False) as process:
        process.tell("make 5 70000")
        (file,) = watched.files(folder)
        launcher = subprocess.Popen([tare.command, "attach", str(process.pid), "-q", "-o", "t.tare"], cwd=tare.folder)
        until(process, file, "rests")
        launcher.kill()
        launcher.wait()
        deadline = time.monotonic() + 60
        while watched.facts(file)["rests"]:
            assert time.monotonic() < deadline
            process.tell("make 20000 64", "drop")  # until its spool is full
        process.tell("make 7 90000")
        assert live(tare, file) == {90000: (7, "make")}


def test_the_watch_goes_on_after_a_recording_without_an_event(tare: Tare, program: Build, folder: Path) -> None:
    environment = watched.environment(folder, "1K")
    with started([program("commanded.c")], tare.folder, environment, recorded=False) as process:
        process.tell("make 5 70000")
        (file,) = watched.files(folder)
        for _ in range(2):
            done = tare("attach", str(process.pid), "--for", "0.2", "-o", "t.tare")
            assert "the process allocated nothing meanwhile" in done.stderr
        process.tell("drop", "make 3 80000")
        assert live(tare, file) == {80000: (3, "make")}
        with exact(tare, process, "exact.tare"):
            process.tell("drop", "make 4 90000")
        process.tell("make 5 100000")
        assert live(tare, file) == {90000: (4, NONE), 100000: (5, "make")}


def test_a_sampled_recording_ends_the_watch(tare: Tare, program: Build, folder: Path) -> None:
    environment = watched.environment(folder, "1K")
    with started([program("commanded.c")], tare.folder, environment, recorded=False) as process:
        process.tell("make 5 70000")
        command = [tare.command, "attach", str(process.pid), "-q", "--sample", "4K", "-o", "t.tare"]
        with subprocess.Popen(command, cwd=tare.folder) as launcher:
            until(process, watched.files(folder)[0], "stopped")
            process.tell("make 5 80000")
            launcher.send_signal(signal.SIGINT)
        (file,) = watched.files(folder)
        assert watched.facts(file)["stopped"] == "another recording of the process began"
        assert live(tare, file) == {70000: (5, "make")}


def test_a_child_of_an_exact_recording_leaves_its_parents_file(tare: Tare, program: Build, folder: Path) -> None:
    environment = watched.environment(folder, "1K")
    with started([program("commanded.c")], tare.folder, environment, recorded=False) as process:
        process.tell("make 5 70000")
        (file,) = watched.files(folder)
        with exact(tare, process, "t.tare"):
            process.tell("fork 7 80000")
            assert live(tare, file) == {70000: (5, "make")}
        process.tell("fork 7 80000", "make 1 90000")
        assert live(tare, file) == {70000: (5, "make"), 90000: (1, "make")}


def test_sums_are_right_after_several_exact_recordings(tare: Tare, program: Build, folder: Path) -> None:
    """The program does the same in each run, at whatever speed, and kills itself after its last step."""
    built, steps, threads = program("watched.c"), "4000000", "2"
    environment = watched.environment(folder, "16K")
    recordings = 0
    with subprocess.Popen([built, steps, threads], env=environment) as process:
        while recordings < 3:
            done = tare("attach", str(process.pid), "-q", "--for", "0.3", "-o", "attached.tare")
            if done.returncode != 0:
                process.wait(1)  # else the failure has another reason
                break
            assert facts(tare, tare.folder / "attached.tare")["impossible_events"] == 0
            recordings += 1
        assert process.wait(300) == -signal.SIGKILL
    assert recordings > 0
    (file,) = watched.files(folder)
    found = watched.facts(file)
    assert not found["rests"] and not found["stopped"] and found["lost_events"] == 0
    tare("run", "-q", "-o", "exact.tare", "--", str(built), steps, threads)
    (true,) = tare.sql(tare.folder / "exact.tare", "select sum(end_blocks * usable_bytes) as bytes from site_sizes")
    assert abs(found["live_bytes"] - true["bytes"]) <= 4 * found["live_bytes_error"]
