"""Killed, stopped, misused: nothing recorded is lost, the program never suffers, and each failure says one clear line."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
KILLS = int(os.environ.get("TARE_KILLS", "12"))  # of each kind; 100 in the long run


def allocations_done(count_file: Path) -> int:
    return int.from_bytes(count_file.read_bytes()[:8], "little") if count_file.exists() else 0


def child_pids(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


@pytest.mark.parametrize("victim", ["program", "launcher", "both"])
def test_kill_minus_nine_at_a_random_moment(tare: Tare, program: Program, victim: str) -> None:
    steady = program("steady.c")
    rng = random.Random(victim)
    for round_number in range(KILLS):
        name = f"{victim}{round_number}.tare"
        count_file = tare.folder / f"{victim}{round_number}.count"
        launcher = subprocess.Popen(
            [tare.command, "run", "-o", name, "--", str(steady), str(count_file)],
            cwd=tare.folder,
            stderr=subprocess.DEVNULL,
        )
        while allocations_done(count_file) == 0:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.3)
        (pid,) = child_pids(launcher.pid)
        done = 0
        if victim == "launcher":
            launcher.kill()
            launcher.wait(timeout=20)
            done = allocations_done(count_file)
            time.sleep(0.2)
            later = allocations_done(count_file)
            assert later > done, "the program stopped when its launcher died"
            os.kill(pid, signal.SIGKILL)
        elif victim == "both":
            os.kill(launcher.pid, signal.SIGSTOP)  # so that neither outlives the other by much
            os.kill(pid, signal.SIGKILL)
            launcher.kill()
            launcher.wait(timeout=20)
        else:
            os.kill(pid, signal.SIGKILL)
            assert launcher.wait(timeout=20) == -signal.SIGKILL  # the program's end is repeated
        if victim != "launcher":
            done = allocations_done(count_file)
        report = tare.report(tare.folder / name)
        assert report["impossible_events"] == 0
        recorded = report["total"]["blocks"]
        if report["dropped_events"] == 0:
            assert recorded >= done - 1, (
                f"round {round_number}: {recorded} of {done}"
            )  # the event being written may be lost
        else:
            assert victim != "program" and recorded > 0


def test_a_stopped_launcher_never_hangs_the_program(tare: Tare, program: Program) -> None:
    count_file = tare.folder / "stop.count"
    launcher = subprocess.Popen(
        [tare.command, "run", "-o", "s.tare", "--", str(program("steady.c")), str(count_file), "20000000"],
        cwd=tare.folder,
        stderr=subprocess.DEVNULL,
    )
    while allocations_done(count_file) == 0:
        time.sleep(0.002)
    (pid,) = child_pids(launcher.pid)
    os.kill(launcher.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 60
    while allocations_done(count_file) < 20_000_000 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert allocations_done(count_file) == 20_000_000, "the program hung"
    os.kill(launcher.pid, signal.SIGCONT)
    assert launcher.wait(timeout=60) == 0
    report = tare.report(tare.folder / "s.tare")
    assert report["dropped_events"] > 0  # 40 million events don't fit the spool, and that is said
    assert report["impossible_events"] == 0
    assert pid > 0


def bytes_under(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*.spool"))


def test_a_killed_launcher_leaves_a_program_that_takes_no_more_memory(tare: Tare, program: Program) -> None:
    count_file = tare.folder / "alone.count"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as spools:
        launcher = subprocess.Popen(
            [tare.command, "run", "-o", "alone.tare", "--", str(program("steady.c")), str(count_file)],
            cwd=tare.folder,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TARE_SPOOL_PARENT": spools},
        )
        while allocations_done(count_file) == 0:
            time.sleep(0.002)
        (pid,) = child_pids(launcher.pid)
        launcher.kill()
        launcher.wait(timeout=20)
        done = allocations_done(count_file)
        deadline = time.monotonic() + 60
        while allocations_done(count_file) < done + 5_000_000 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert allocations_done(count_file) >= done + 5_000_000, "the program was held up"
        assert (
            bytes_under(Path(spools)) < 80 << 20
        )  # 64 MiB and a little; 5 million more allocations take three times that
        os.kill(pid, signal.SIGKILL)
        done_now = tare("report", "alone.tare")
        assert "tare run was killed; events after the spool was full aren't recorded" in done_now.stdout
        report = tare.report(tare.folder / "alone.tare")
        assert report["impossible_events"] == 0
        assert report["total"]["blocks"] > 1000
        assert report["dropped_events"] >= 1
        assert bytes_under(Path(spools)) == 0  # the report took what was left into the trace


def test_an_image_replaced_by_exec_says_so(tare: Tare, program: Program) -> None:
    count_file = tare.folder / "exec.count"
    trace = tare.record("/bin/sh", "-c", f"exec {program('steady.c')} {count_file} 1000", name="x.tare")
    assert tare.sql(trace, "select replaced_by_exec from process") == [{"replaced_by_exec": 0}]
    (before,) = (path for path in tare.others("x.tare") if path.name.endswith(".e0"))
    assert tare.sql(before, "select replaced_by_exec from process") == [{"replaced_by_exec": 1}]
    assert "the process executed another program" in tare("report", before).stdout


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


def test_a_missing_program_is_127(tare: Tare) -> None:
    done = tare("run", "-o", "x.tare", "--", "./no-such-program")
    assert done.returncode == 127
    assert "no-such-program" in one_line(done)


def test_a_static_program_is_refused_before_it_starts(tare: Tare, program: Program) -> None:
    static = program("aligned_81mb.c", "-static")
    done = tare("run", "-o", "x.tare", "--", static)
    assert done.returncode == 125
    assert "static" in one_line(done)


def test_a_text_file_is_no_trace(tare: Tare) -> None:
    (tare.folder / "notes.txt").write_text("shopping list\n")
    for verb in ("report", "counts"):
        done = tare(verb, "notes.txt")
        assert done.returncode == 2
        assert "notes.txt" in one_line(done)
    done = tare("report", "missing.tare")
    assert done.returncode == 4
    assert "missing.tare" in one_line(done)


def test_a_cut_or_damaged_trace_is_said_in_one_line(tare: Tare, program: Program) -> None:
    trace = tare.record(program("steady.c"), tare.folder / "c.count", "200000")
    whole = trace.read_bytes()
    rng = random.Random(5)
    cut = tare.folder / "cut.tare"
    for _ in range(25):
        cut.write_bytes(whole[: rng.randrange(len(whole))])
        done = tare("report", cut, "--json")
        assert done.returncode in (0, 2, 3), done.stderr
        if done.returncode:
            one_line(done)
    for _ in range(25):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        cut.write_bytes(flipped)
        done = tare("report", cut, "--json")
        assert done.returncode in (0, 2, 3), done.stderr
        assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written_is_said_before_the_program_runs(tare: Tare, program: Program) -> None:
    done = tare("run", "-o", "/proc/no/such.tare", "--", program("aligned_81mb.c"))
    assert done.returncode == 125
    assert "/proc/no/such.tare" in one_line(done)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small filesystem needs root")
def test_a_full_disk_leaves_the_program_alone(tare: Tare, program: Program) -> None:
    small = tare.folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(small)], check=True)
    try:
        count_file = tare.folder / "f.count"
        done = tare("run", "-o", small / "f.tare", "--", program("steady.c"), count_file, "3000000")
        assert allocations_done(count_file) == 3_000_000
        assert done.returncode == 0, done.stderr  # the program's own status
        assert "f.tare" in done.stderr and "space" in done.stderr.lower()
        report = tare("report", small / "f.tare", "--json")
        assert report.returncode in (0, 3), report.stderr
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small filesystem needs root")
def test_a_full_spool_folder_is_said_and_harmless(tare: Tare, program: Program) -> None:
    small = tare.folder / "spool"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        count_file = tare.folder / "g.count"
        done = tare(
            "run",
            "-o",
            "g.tare",
            "--",
            program("steady.c"),
            count_file,
            "2000000",
            env={"TARE_SPOOL_PARENT": str(small)},
        )
        assert allocations_done(count_file) == 2_000_000
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_the_programs_streams_and_status_are_its_own(tare: Tare) -> None:
    done = tare("run", "-o", "sh.tare", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert done.returncode == 7
    assert done.stdout == "out\n"
    assert "err\n" in done.stderr
    done = tare("run", "-o", "sig.tare", "--", "sh", "-c", "kill -TERM $$")
    assert done.returncode == -signal.SIGTERM


def test_a_program_built_anew_is_told_from_the_recorded_one(tare: Tare, tmp_path: Path) -> None:
    source = tmp_path / "app.c"
    for version in (1, 2):
        body = f"#include <stdlib.h>\nvoid *volatile p;\nvoid keep(void) {{ p = malloc({version}00000); }}\nint main(void) {{ keep(); return 0; }}\n"
        source.write_text(body)
        subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", source, "-o", tmp_path / "app"], check=True)
        if version == 1:
            trace = tare.record(tmp_path / "app")
            assert "keep (" in tare("report", trace).stdout
    report = tare("report", trace).stdout
    assert (
        f"note: no names for functions in {tmp_path / 'app'}: it has another build id than when it was recorded"
        in " ".join(report.split())
    )
    assert "app+0x" in report and "keep (" not in report


def test_why_nothing_was_recorded_is_said_once(tare: Tare) -> None:
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 10; "$0" run -o t.tare -- python3 -c pass', tare.command],
        cwd=tare.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    first, second = done.stderr.splitlines()
    assert "ulimit -f" in first
    assert second == "tare: nothing was recorded"
