"""`tare attach` to programs that nobody prepared: recorded, let go, attached to again, with the same output as alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from attached import recorded, running
from commanded import blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare

    Build = Callable[..., Path]


class Case(NamedTuple):
    source: str
    arguments: tuple[str, ...]


PROGRAMS = {
    "pausing": Case("unprepared.cc", ("20000", "1", "1")),
    "tight": Case("unprepared.cc", ("3000000", "1", "0")),
    "threads": Case("unprepared.cc", ("20000", "4", "1")),
    "forks": Case("unprepared_forks.c", ()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_recorded_let_go_and_recorded_again(tare: Tare, program: Build, name: str) -> None:
    case = PROGRAMS[name]
    built = program(case.source)
    alone = subprocess.run([built, *case.arguments, "/"], capture_output=True, text=True, check=True).stdout
    stop = tare.folder / "stop"
    with running(built, *case.arguments, stop) as process:
        for number in range(2):
            assert recorded(tare, process.pid, f"{number}.tare") > 20
        stop.touch()
        assert process.communicate(timeout=120)[0] == alone
        assert process.returncode == 0


STARTED = """
import sys
from tare.cli import main
print("started", flush=True)
sys.exit(main())
"""


def test_an_interrupted_attach_leaves_the_program_as_it_was(tare: Tare, program: Build) -> None:
    """Signals come from before the recorder is loaded until the recording runs.

    Not while Python starts: it drops a SIGINT that comes when it looks whether its script is an archive.
    """
    case = PROGRAMS["tight"]
    built = program(case.source)
    alone = subprocess.run([built, *case.arguments, "/"], capture_output=True, text=True, check=True).stdout
    chance = random.Random(1)
    for number, kind in enumerate([signal.SIGINT, signal.SIGTERM] * 8):
        stop = tare.folder / f"stop{number}"
        with running(built, *case.arguments, stop, before=0.05) as process:
            attach = subprocess.Popen(
                [sys.executable, "-c", STARTED, "attach", str(process.pid), "-q", "-o", f"{number}.tare"],
                cwd=tare.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert attach.stdout is not None
            assert attach.stdout.readline() == "started\n"
            time.sleep(chance.uniform(0, 0.4))
            attach.send_signal(kind)
            error = attach.communicate(timeout=60)[1]
            stop.touch()
            assert process.communicate(timeout=120)[0] == alone, error
            assert process.returncode == 0, error


@pytest.mark.parametrize("came", ["return True", "raise KeyboardInterrupt"])
def test_a_ctrl_c_before_the_core_handles_signals_ends_the_recording(tare: Tare, program: Build, came: str) -> None:
    """It was remembered in a callback where Python drops exceptions, or Python hasn't acted on it yet."""
    early = f"import sys\nfrom tare import cli, interrupt\ndef came():\n {came}\ninterrupt.came = came\nsys.exit(cli.main())"
    with running(program("unprepared_forks.c"), tare.folder / "stop") as process:
        command = [sys.executable, "-c", early, "attach", str(process.pid), "-q", "-o", "a.tare"]
        subprocess.run(command, cwd=tare.folder, check=True, timeout=60)


def slots_of(pid: int) -> bool:
    """Whether the reference to malloc of a running executable leads to the recorder."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    ranges = [line.split()[0].split("-") for line in maps if "/libtare-record.so" in line and " r-xp " in line]
    start, end = (int(word, 16) for word in ranges[0])
    executable = os.readlink(f"/proc/{pid}/exe")
    relocations = subprocess.run(["readelf", "-rW", executable], capture_output=True, text=True, check=True).stdout
    (offset,) = (int(line.split()[0], 16) for line in relocations.splitlines() if " malloc@" in line)
    base = int(next(line for line in maps if line.endswith(executable)).split("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(base + offset)
        return start <= int.from_bytes(memory.read(8), "little") < end


def test_letting_go_leads_calls_past_the_recorder(tare: Tare, program: Build) -> None:
    with running(program("unprepared_forks.c"), tare.folder / "stop") as process:
        attach = subprocess.Popen([tare.command, "attach", str(process.pid), "-q", "-o", "a.tare"], cwd=tare.folder)
        deadline = time.monotonic() + 60
        while "/libtare-record.so" not in Path(f"/proc/{process.pid}/maps").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.5)
        assert slots_of(process.pid)
        attach.send_signal(signal.SIGINT)
        assert attach.wait(timeout=60) == 0
        assert not slots_of(process.pid)


def test_libraries_that_are_opened_later_are_recorded(tare: Tare, program: Build) -> None:
    library = program("unprepared_library.c", "-shared", "-fPIC")
    with running(program("unprepared_plugins.c"), library, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for number in range(3):
            attach = subprocess.Popen(
                [tare.command, "attach", str(process.pid), "-q", "-o", f"{number}.tare", "--for", "1.5"],
                cwd=tare.folder,
            )
            while attach.poll() is None:
                process.stdin.write("call\n")
                process.stdin.flush()
                assert process.stdout.readline() == "done\n"
                time.sleep(0.05)
            assert attach.returncode == 0
            trace = tare.folder / f"{number}.tare"
            made = blocks_of(tare, trace, 777)
            assert made["total"] >= 100 and made["live"] == 0
            (facts,) = tare.sql(trace, "select impossible_events from process")
            assert facts["impossible_events"] == 0


MIB = 1 << 20


def peak_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def wait_for_library(pid: int) -> None:
    deadline = time.monotonic() + 60
    while "/libtare-record.so" not in Path(f"/proc/{pid}/maps").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def account_while_growing(tare: Tare, built: Path, early_mib: int) -> tuple[dict[str, Any], str]:
    """The account of a program that keeps 100 MiB more during a recording, and the report's first screen."""
    with running(built, str(early_mib), stdin=subprocess.PIPE, before=0) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        early_peak = peak_of(process.pid)
        command = [tare.command, "attach", str(process.pid), "-q", "-o", "a.tare"]
        attach = subprocess.Popen(command, cwd=tare.folder)
        wait_for_library(process.pid)
        time.sleep(1)
        process.stdin.write("grow\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        time.sleep(1)
        attach.send_signal(signal.SIGINT)
        assert attach.wait(timeout=60) == 0
        peak = peak_of(process.pid)
    (facts,) = tare.sql(tare.folder / "a.tare", "select peak_rss_bytes, earlier_peak_rss_bytes from process")
    # The kernel adds up counters of processors, and may be off by some pages.
    assert facts == pytest.approx({"peak_rss_bytes": peak, "earlier_peak_rss_bytes": early_peak}, abs=MIB / 4)
    found = json.loads(tare("report", "a.tare", "--json").stdout)["account"]
    assert sum(part["bytes"] for part in found["parts"]) + found["unexplained_bytes"] == found["peak_rss_bytes"]
    assert found["peak_rss_bytes"] + found["recorder_bytes"] == facts["peak_rss_bytes"]
    return found, tare("report", "a.tare").stdout


def test_the_account_of_a_running_program(tare: Tare, program: Build) -> None:
    found, text = account_while_growing(tare, program("unprepared_peak.c"), 0)
    assert not found["peak_before_recording"] and "before the recording" not in text
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["blocks"]["most_bytes"] >= 100 * MIB
    # 32 MiB in blocks from before: they are in the heap, and aren't free.
    assert parts["older blocks and free memory"]["most_bytes"] >= 32 * MIB
    assert "free in the allocator" not in parts
    assert found["unexplained_bytes"] < 0.1 * found["peak_rss_bytes"]


def test_the_account_of_a_program_whose_peak_was_earlier(tare: Tare, program: Build) -> None:
    found, text = account_while_growing(tare, program("unprepared_peak.c"), 400)
    assert found["peak_before_recording"] and found["recorder_bytes"] == 0
    assert found["peak_rss_bytes"] >= 400 * MIB
    assert found["unexplained_bytes"] >= 200 * MIB
    assert "MiB before the recording:" in text
    assert "the peak RSS came before the recording" in " ".join(text.split())


OBJECTS = """
import sys
def make():
    return [(i, str(i)) for i in range(50_000)]
older = make()
print("ready", flush=True)
for line in sys.stdin:
    if line == "free\\n":
        older.clear()
    elif line == "make\\n":
        kept = make()
    print("done", flush=True)
"""


def tables_of(pid: int) -> int:
    """How many words in the data of an interpreter lead to the recorder."""
    maps = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    ranges = [(*(int(word, 16) for word in fields[0].split("-")), fields) for fields in maps]
    code = [(start, end) for start, end, fields in ranges if "libtare-record" in fields[-1] and fields[1] == "r-xp"]
    if not code:
        return 0
    found = 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for start, end, fields in ranges:
            if not fields[1].startswith("rw") or "python" not in fields[-1] or "libtare-record" in fields[-1]:
                continue
            memory.seek(start)
            data = memory.read(end - start)
            words = memoryview(data).cast("Q")
            found += sum(1 for word in words if code[0][0] <= word < code[0][1])
    return found


def spools_of(pid: int) -> set[str]:
    return {line.split()[5] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if ".spool" in line}


def test_objects_of_a_running_python_program(tare: Tare) -> None:
    """Recorded with their frames; earlier ones are unknown, and their frees aren't errors. Twice, as detaching restores the tables."""
    with running(sys.executable, "-c", OBJECTS, stdin=subprocess.PIPE, before=0) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        before: set[str] = set()
        for number, order in enumerate(["free", "make"]):
            name = f"{number}.tare"
            attach = subprocess.Popen([tare.command, "attach", str(process.pid), "-q", "-o", name], cwd=tare.folder)

            def perform(line: str) -> None:
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(f"{line}\n")
                process.stdin.flush()
                assert process.stdout.readline() == "done\n"

            deadline = time.monotonic() + 60
            while not spools_of(process.pid) - before:
                assert time.monotonic() < deadline
                perform("nothing")  # the recording begins with an allocation
                time.sleep(0.01)
            before = spools_of(process.pid)
            assert tables_of(process.pid) >= 8
            perform(order)
            perform("make")
            attach.send_signal(signal.SIGINT)
            assert attach.wait(timeout=60) == 0
            assert tables_of(process.pid) == 0
            (facts,) = tare.sql(
                tare.folder / name,
                "select impossible_events, dropped_events, pre_existing_frees, python from process",
            )
            assert facts["impossible_events"] == facts["dropped_events"] == 0
            assert facts["pre_existing_frees"] >= 90_000  # tuples and strings of the list before
            assert facts["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
            (made,) = tare.sql(
                tare.folder / name,
                "select sum(end_blocks) as live from site_sizes where requested_bytes = 56",
            )
            assert made["live"] >= 45_000  # CPython reuses up to 2,000 tuples of a size by itself
            text = " ".join(tare("report", name).stdout.split())
            assert "make" in text and "<string>:4" in text
            assert "after an attach, older blocks of pymalloc are unknown" in text or number == 1


def wait_for_recording(pid: int) -> None:
    deadline = time.monotonic() + 60
    while ".spool" not in Path(f"/proc/{pid}/maps").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


FACTS = "select alloc_events, impossible_events, dropped_events, complete, replaced_by_exec from process"


def test_a_recording_ends_when_the_program_executes_another(tare: Tare, program: Build) -> None:
    with running(program("unprepared_exec.c"), stdin=subprocess.PIPE, before=0) as process:
        assert process.stdin is not None and process.stdout is not None
        for number in range(2):
            assert process.stdout.readline() == "ready\n"
            command = [tare.command, "attach", str(process.pid), "-q", "-o", f"{number}.tare"]
            attach = subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.PIPE, text=True)
            wait_for_recording(process.pid)
            time.sleep(0.5)
            process.stdin.write("exec\n")
            process.stdin.flush()
            (line,) = attach.communicate(timeout=60)[1].splitlines()
            assert attach.returncode == 0
            assert f"process {process.pid} executed another program, unprepared_exec" in line
            (facts,) = tare.sql(tare.folder / f"{number}.tare", FACTS)
            assert facts["alloc_events"] > 20
            assert facts["impossible_events"] == facts["dropped_events"] == facts["complete"] == 0
            assert facts["replaced_by_exec"] == 1
        assert process.stdout.readline() == "ready\n"
        process.communicate("quit\n", timeout=60)
        assert process.returncode == 0


def test_a_child_that_executes_another_program_has_a_trace_of_its_own(tare: Tare, program: Build) -> None:
    with running(program("unprepared_exec.c"), stdin=subprocess.PIPE, before=0) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        command = [tare.command, "attach", str(process.pid), "-q", "-o", "a.tare"]
        attach = subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.PIPE, text=True)
        wait_for_recording(process.pid)
        process.stdin.write("fork\n")
        process.stdin.flush()
        assert process.stdout.readline() != ""
        attach.send_signal(signal.SIGINT)
        (line,) = attach.communicate(timeout=60)[1].splitlines()
        assert line == "tare: 1 process could not be recorded: started with an environment that lacks LD_PRELOAD (sh)"
        assert attach.returncode == 0
        (child,) = tare.others("a.tare")
        (facts,) = tare.sql(child, FACTS)
        assert facts["alloc_events"] >= 50 and facts["replaced_by_exec"] == 1
        assert facts["impossible_events"] == facts["dropped_events"] == 0
        (parent,) = tare.sql(tare.folder / "a.tare", FACTS)
        assert parent["alloc_events"] > 20 and parent["replaced_by_exec"] == 0
        assert parent["impossible_events"] == parent["dropped_events"] == 0
        process.communicate("quit\n", timeout=60)
        assert process.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the root")
def test_a_program_in_another_root(tare: Tare, program: Build) -> None:
    built = program("unprepared.cc")
    root = tare.folder / "root"
    for folder in ("tmp", "dev/shm", "proc"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    libraries = subprocess.run(["ldd", built], capture_output=True, text=True, check=True).stdout.split()
    for path in [str(built), *(word for word in libraries if word.startswith("/"))]:
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    script = f"mount -t proc none {root}/proc && exec chroot {root} {built} 20000 2 1 /stop"
    with running("unshare", "--mount", "sh", "-c", script, before=1) as process:
        assert os.readlink(f"/proc/{process.pid}/root") == str(root)
        for number in range(2):
            assert recorded(tare, process.pid, f"{number}.tare") > 20
        (root / "stop").touch()
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_refusals_are_one_line_with_the_reason(tare: Tare, program: Build) -> None:
    def refusal(pid: int) -> str:
        done = tare("attach", str(pid), "-o", "r.tare", "--for", "0.1")
        assert done.returncode != 0
        (line,) = done.stderr.splitlines()
        return line

    with running(program("unprepared.cc", "-static"), "20000", "1", "1", tare.folder / "stop") as process:
        assert "linked statically" in refusal(process.pid)
        assert process.poll() is None
    with running(program("unprepared.cc"), "20000", "1", "1", tare.folder / "stop") as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        assert "it is stopped" in refusal(process.pid)
        process.send_signal(signal.SIGCONT)
        if shutil.which("strace"):
            with running("strace", "-o", os.devnull, "-p", str(process.pid)):
                assert "traces it" in refusal(process.pid)
        assert process.poll() is None
