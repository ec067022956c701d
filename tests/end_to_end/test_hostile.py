"""Programs and situations that turn against the recording: the program's own end, and at most one line, is what is seen."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]


def test_an_allocator_linked_into_the_program_never_waits_for_itself(tare: Tare, program: Program) -> None:
    done = tare("run", "--", program("linked_allocator.c", "-rdynamic"), timeout_s=30)
    assert (done.returncode, done.stdout) == (5, "alive\n")
    assert "has a malloc of its own" in done.stderr


def test_thousands_of_threads_at_once_lose_nothing(tare: Tare, program: Program) -> None:
    trace = tare.record(program("many_threads.c"), "3000", name="threads.tare")
    report = tare.report(trace)
    assert report["dropped_events"] == report["impossible_events"] == 0
    assert tare.sql(trace, "select sum(total_blocks) as n from site_sizes where requested_bytes = 1234") == [
        {"n": 3000}
    ]


@pytest.mark.parametrize("sanitizer", ["address", "thread", "leak"])
def test_sanitized_programs_are_refused(tare: Tare, program: Program, sanitizer: str) -> None:
    done = tare("run", "--", program("many_threads.c", f"-fsanitize={sanitizer}"), "1")
    assert done.returncode == 125
    assert "is built with a sanitizer (lib" in done.stderr and done.stderr.count("\n") == 1


def test_undefined_behaviour_sanitizer_is_recorded(tare: Tare, program: Program) -> None:
    trace = tare.record(program("many_threads.c", "-fsanitize=undefined"), "5")
    assert tare.sql(trace, "select sum(total_blocks) as n from site_sizes where requested_bytes = 1234") == [{"n": 5}]


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2", "SIGHUP", "SIGTERM"])
def test_signals_to_the_launcher_reach_the_program(tare: Tare, name: str) -> None:
    script = f"trap 'exit 44' {name[3:]}; echo ready; while :; do sleep 0.05; done"
    number = getattr(signal, name)
    launcher = subprocess.Popen(
        [tare.command, "run", "-q", "-o", "s.tare", "--", "bash", "-c", script],
        cwd=tare.folder,
        stdout=subprocess.PIPE,
        # under nohup SIGHUP is ignored, and a shell can't trap what was ignored when it started
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert launcher.stdout is not None and launcher.stdout.readline() == b"ready\n"
    launcher.send_signal(number)
    assert launcher.wait(timeout=30) == 44
    launcher.stdout.close()


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", "<&- >&- 2>&-"])
def test_a_summary_nobody_can_read_leaves_the_status_alone(tare: Tare, redirection: str) -> None:
    command = f"{tare.command} run -o q.tare -- sh -c 'exit 4' {redirection}"
    assert subprocess.run(["sh", "-c", command], cwd=tare.folder, timeout=60).returncode == 4
    assert tare.report(tare.folder / "q.tare")["events"] > 0


def test_a_report_without_an_output_is_no_failure(tare: Tare) -> None:
    trace = tare.record("true", name="r.tare")
    done = subprocess.run(["sh", "-c", f"{tare.command} report {trace} >&-"], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_trace_that_cannot_be_written_is_said_once(tare: Tare) -> None:
    if not os.path.exists("/proc/self/stat") or os.geteuid() != 0:
        pytest.skip("needs root, for whom /proc looks writable")
    done = tare("run", "-o", "/proc/x", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "cannot write the trace /proc/x" in done.stderr


def test_a_slow_launcher_costs_time_and_no_events(tare: Tare, program: Program) -> None:
    """It gets a tenth of what its program gets: runnable, but for most of the time not running."""
    launcher = subprocess.Popen(
        [tare.command, "run", "-q", "-o", "slow.tare", "--", str(program("tight_handoff.c"))], cwd=tare.folder
    )
    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        os.setpriority(os.PRIO_PROCESS, launcher.pid, 10)
        assert launcher.wait(timeout=120) == 0
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
        launcher.kill()
        launcher.wait()
    report = tare.report(tare.folder / "slow.tare")
    assert report["dropped_events"] == report["impossible_events"] == 0
    assert report["events"] > 2_000_000


def test_hundreds_of_children_alive_at_once_fit_the_usual_descriptor_limit(tare: Tare) -> None:
    script = (
        "for i in $(seq 400); do (read -r line <gate) & done; ls >/dev/null; sleep 1; echo >gate; kill $(jobs -p); wait"
    )
    command = f"ulimit -S -n 1024; mkfifo gate; {tare.command} run -q -o c.tare -- bash -c {shlex.quote(script)}"
    done = subprocess.run(["bash", "-c", command], cwd=tare.folder, capture_output=True, text=True, timeout=120)
    assert "Too many open files" not in done.stderr
    assert len(tare.others("c.tare")) >= 400


def test_the_program_keeps_its_descriptor_limit(tare: Tare) -> None:
    command = f"ulimit -S -n 999; {tare.command} run -q -o l.tare -- sh -c 'sleep 0.2; ulimit -n'"
    done = subprocess.run(["bash", "-c", command], cwd=tare.folder, capture_output=True, text=True, timeout=60)
    assert done.stdout == "999\n"


def test_a_limit_on_file_sizes_is_said_and_harmless(tare: Tare) -> None:
    done = tare("run", "-q", "-o", "f.tare", "--", "sh", "-c", "ulimit -f 10; true | cat; ls / >/dev/null; exit 3")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "could not be recorded: no spool can be made in" in done.stderr
    assert "(ulimit -f)" in done.stderr and "cat" in done.stderr


def test_a_program_for_fixed_addresses_has_no_malloc_of_its_own(tare: Tare, program: Program) -> None:
    fixed = program("fixed_address.c", "-no-pie", "-fno-pic")
    done = tare("run", "-q", "-o", "n.tare", "--", fixed)
    assert (done.returncode, done.stderr) == (0, "")
    query = "select sum(total_blocks) as n from site_sizes where requested_bytes = 4321"
    assert tare.sql(tare.folder / "n.tare", query) == [{"n": 50}]


def test_a_program_that_becomes_another_user_is_recorded_on(tare: Tare) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    other_user = ["setpriv", "--reuid", "65534", "--clear-groups"]
    done = tare("run", "-q", "-o", "u.tare", "--", *other_user, "ls", "/")
    assert done.returncode == 0 and "bin\n" in done.stdout
    library = tare("run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD").stdout.strip()
    if subprocess.run([*other_user, "test", "-r", library]).returncode == 0:
        assert (
            done.stderr == ""
            and (tare.folder / "u.tare").exists()
            and any(path.name.endswith(".e0") for path in tare.others("u.tare"))
        )
    else:
        assert done.stderr.count("\n") == 1 and "can't read the recorder's library" in done.stderr


def test_sanitized_programs_that_are_started_run_unrecorded(tare: Tare, program: Program) -> None:
    sanitized = program("many_threads.c", "-fsanitize=address")
    script = f'{sanitized} 1 && {sanitized} 1 && python3 -c \'import subprocess; subprocess.run(["{sanitized}", "1"])\''
    done = tare("run", "-q", "-o", "s.tare", "--", "sh", "-c", script)
    assert done.returncode == 0
    assert done.stderr.startswith("tare: 3 processes could not be recorded: built with a sanitizer"), done.stderr
    assert done.stderr.count("\n") == 1


def test_names_and_words_that_are_not_utf8_are_shown_and_found(tare: Tare) -> None:
    folder = tare.folder / os.fsdecode(b"d\xff")
    folder.mkdir()
    program = folder / os.fsdecode(b"p\xe9")
    shutil.copy("/bin/true", program)
    words = [b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"]  # well-formed, the last in planes
    words += [b"\x80", b"\xc0\x80", b"\xc3a", b"\xe0\x9f\x80", b"\xed\xa0\x80", b"\xe2\x82"]
    words += [b"\xf0\x8f\x80\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf0\x9f\x98"]
    trace = tare.record(program, *map(os.fsdecode, words), name=str(folder / os.fsdecode(b"t\xfc.tare")))
    (process,) = tare.sql(trace, "select * from process")
    assert process["exe"] == os.fsencode(program).decode(errors="backslashreplace")
    shown = process["command_line"].split()
    assert [word.strip("'") for word in shown[1:]] == [word.decode(errors="backslashreplace") for word in words]
    assert tare.report(trace)["program"] == "p\\xe9"
    assert "p\\xe9" in tare("report", trace).stdout
