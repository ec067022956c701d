"""Watched programs end to end: snapshots, addresses, metrics, requests, kills of programs and watchers, and out-of-memory kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from memory_groups import inside, memory_group
from tare.installation import recorder_library

if TYPE_CHECKING:
    from conftest import Tare

MIB = 1 << 20
# Keeps blocks of 1 KiB, as many MiB as its input has lines.
GROWING = """
import sys
def remember():
    return [bytearray(1000) for _ in range(1024)]
def forget():
    return [bytearray(3000) for _ in range(100)]
kept = []
print("ready", flush=True)
for line in sys.stdin:
    kept.append(remember())
    forget()
    print(len(kept), flush=True)
"""


def until(holds: Callable[[], Any], what: str) -> Any:
    """A guard against hangs: nothing is measured."""
    for _ in range(1200):
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError(what)


def environment(folder: Path, sample: str = "64K") -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": recorder_library(), "TARE_WATCH": str(folder), "TARE_SAMPLE": sample}


@contextmanager
def running(command: list[Any], **how: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*map(str, command)], text=True, **how)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):  # a killed program's input
                    stream.close()


@contextmanager
def watching(tare: Tare, folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [tare.command, "watch", "--serve", folder, "--poll", "100ms", *options]
    with running(command, stderr=subprocess.PIPE) as watcher:
        until(lambda: answers(folder) or watcher.poll() is not None, "the watcher has started")
        assert watcher.poll() is None, watcher.stderr and watcher.stderr.read()
        yield watcher


def answers(folder: Path) -> bool:
    """A killed watcher leaves its socket."""
    try:
        return ask(folder, "GET /healthz") == "ok\n"
    except OSError:
        return False


@contextmanager
def growing(folder: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    command = [*before, sys.executable, "-c", GROWING]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(folder)) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process


def grow(process: subprocess.Popen[str], mib: int) -> None:
    assert process.stdin is not None and process.stdout is not None
    for _ in range(mib):
        process.stdin.write("more\n")
        process.stdin.flush()
        if not process.stdout.readline():
            raise EOFError("the program has ended")


def ask(folder: Path, request: str) -> str:
    """The body of an answer with status 200."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(60)
        peer.connect(str(folder / "socket"))
        peer.sendall(f"{request} HTTP/1.1\r\nHost: tare\r\n\r\n".encode())
        received = b""
        while data := peer.recv(65536):
            received += data
    head, _, body = received.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 "), head
    return body


def metric(folder: Path, name: str) -> list[float]:
    lines = ask(folder, "GET /metrics").splitlines()
    return [float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name}{{", f"{name} "))]


def snapshots(folder: Path, reason: str = "*") -> list[Path]:
    return sorted((folder / "snapshots").glob(f"*.{reason}.*.tare"), key=lambda path: path.name.split(".")[-4])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "heap"
    made.mkdir()
    return made


def test_a_program_keeps_its_status_and_streams(tare: Tare) -> None:
    for program, status in (("import sys; print(input()); sys.exit(3)", 3), ("pass", 0)):
        done = subprocess.run(
            [tare.command, "watch", "--dir", "heap", "--", sys.executable, "-c", program],
            input="word\n", capture_output=True, text=True, cwd=tare.folder,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (status, "word\n" if status else "", "")
    assert not list((tare.folder / "heap").glob("*.watch"))  # an exit in order leaves nothing
    assert tare("watch", "--dir", "heap", "--", "./missing").returncode == 127
    assert tare("watch", "--dir", "heap", "--", "/").returncode == 125


def test_a_killed_program_is_explained(tare: Tare, folder: Path) -> None:
    """By the command that started it: with its signal."""
    program = "import os\nkept = [bytearray(1000) for _ in range(20_000)]\nos.kill(os.getpid(), 9)\n"
    done = tare("watch", "--dir", folder, "--sample", "16K", "--", sys.executable, "-c", program)
    assert done.returncode == -signal.SIGKILL
    assert "was killed or crashed: see `tare report" in done.stderr
    (final,) = snapshots(folder, "killed")
    report = tare("report", f"{folder}@last").stdout
    words = " ".join(report.split())
    assert "the process was killed by a signal or crashed (signal 9 (SIGKILL)); it was no out-of-memory kill" in words
    assert "(one standard error)" in words
    end = tare.report(final)["watched_end"]
    assert (end["reason"], end["out_of_memory"], end["signal"]) == ("killed", "no", 9)
    assert abs(end["live_bytes"] - 20_000 * 1057) < 4 * end["live_bytes_error"] + 2 * MIB
    assert not list(folder.glob("*.watch"))


def test_a_program_grows_and_is_killed_and_the_watcher_too(tare: Tare, folder: Path) -> None:
    with growing(folder) as program:
        grow(program, 5)
        with watching(tare, folder, "--every", "300ms") as watcher:
            until(lambda: snapshots(folder, "timer"), "a first snapshot")
            first = ask(folder, "GET /metrics")
            assert first.endswith("# EOF\n")
            (before,) = metric(folder, "tare_heap_live_bytes")
            watcher.kill()
            watcher.wait()
        grow(program, 20)
        with watching(tare, folder, "--every", "300ms"):
            (taken,) = json.loads(ask(folder, "POST /snapshot"))["snapshots"]
            (after,) = metric(folder, "tare_heap_live_bytes")
            (error,) = metric(folder, "tare_heap_live_error_bytes")
            assert abs(after - before - 20 * MIB * 1.06) < 4 * error + MIB
            assert metric(folder, "tare_process_resident_bytes")[0] > after
            assert metric(folder, "tare_heap_sample_bytes") == [64 << 10]
            assert metric(folder, "tare_watch_snapshots_total")[0] >= 1
            changes = tare("diff", snapshots(folder)[0], f"{folder}@now", "--json")
            assert changes.returncode == 0, changes.stderr
            (largest, *_) = json.loads(changes.stdout)["sites"]
            assert "remember" in json.dumps(largest["stack"])
            program.kill()
            program.wait()
            until(lambda: snapshots(folder, "killed"), "the final snapshot")
    end = tare.report(f"{folder}/{program.pid}@last")["watched_end"]
    assert end["reason"] == "killed" and end["out_of_memory"] == "no"
    growth = end["growth"]
    assert growth["since"] == snapshots(folder)[0].name
    assert "remember" in json.dumps(growth["sites"][0]["stack"])
    assert abs(growth["change_bytes"] - 20 * MIB * 1.06) < 4 * growth["error_bytes"] + 2 * MIB
    text = tare("report", f"{folder}@last").stdout
    assert "growth in the" in text and "remember" in text.split("growth in the")[1].split("\n\n")[0]
    assert taken in os.listdir(folder / "snapshots")
    for command in (
        ["sql", f"{folder}@peak", "select count(*) from site_sizes"],
        ["report", f"{folder}@1h"],
        ["counts", f"{folder}@last"],
    ):
        assert tare(*command).returncode == 0


def test_signals_and_a_second_watcher(tare: Tare, folder: Path) -> None:
    with growing(folder) as program, watching(tare, folder, "--every", "1h") as watcher:
        grow(program, 2)
        second = tare("watch", "--serve", folder)
        assert (second.returncode, second.stderr) == (
            125,
            f"tare: {folder} is watched already by process {watcher.pid}: end that watcher first\n",
        )
        watcher.send_signal(signal.SIGUSR1)
        until(lambda: snapshots(folder, "signal"), "a snapshot by a signal")
        beside = subprocess.run([tare.command, "watch", "--dir", folder, "--", "true"], capture_output=True, text=True)
        assert beside.returncode == 0 and "is watched already" in beside.stderr
        watcher.terminate()
        assert watcher.wait(60) == 0
        assert not (folder / "socket").exists()


def test_triggers(tare: Tare, folder: Path) -> None:
    with growing(folder) as program:
        grow(program, 1)
        options = ("--every", "1h", "--when-heap", "30M", "--when-growth", "10M/1h", "--when-rss", "999G")
        with watching(tare, folder, *options):
            until(lambda: snapshots(folder, "timer"), "a first snapshot")
            grow(program, 15)
            until(lambda: snapshots(folder, "growth"), "the growth")
            assert snapshots(folder, "heap") == []
            grow(program, 25)
            until(lambda: snapshots(folder, "heap"), "the size")
            assert snapshots(folder, "rss") == []


def test_a_trigger_starts_an_exact_recording(tare: Tare, folder: Path) -> None:
    """After it, the watch goes on. The recording is beside its snapshots."""
    options = ("--every", "1h", "--when-heap", "8M", "--exact", "3s")
    with growing(folder) as program, watching(tare, folder, *options) as watcher:
        grow(program, 10)
        until(lambda: snapshots(folder, "heap"), "the trigger")
        for _ in range(1200):
            if snapshots(folder, "exact"):
                break
            grow(program, 1)
            time.sleep(0.05)
        (exact,) = snapshots(folder, "exact")
        grow(program, 3)
        program.kill()
        program.wait()
        until(lambda: snapshots(folder, "killed"), "the final snapshot")
        watcher.terminate()
        _, lines = watcher.communicate(timeout=60)
    assert "stopped recording" not in lines and f"process {program.pid}) was killed or crashed" in lines
    report = tare.report(exact)
    assert report["sample_bytes"] == 0 and report["events"] > 2000 and "remember" in json.dumps(report["records"])
    last = tare.report(f"{folder}@last")
    assert last["watched_end"]["reason"] == "killed" and "remember" in json.dumps(last["records"])


def test_hostile_files_cost_a_line(tare: Tare, folder: Path) -> None:
    (folder / "1.0.watch").write_bytes(os.urandom(4 * MIB))
    (folder / "2.0.watch").write_bytes(b"")
    (folder / "3.0.watch").symlink_to("/etc/passwd")
    os.mkfifo(folder / "4.0.watch")
    with growing(folder) as program:
        grow(program, 2)
        with watching(tare, folder, "--every", "200ms") as watcher:
            until(lambda: snapshots(folder, "timer"), "a snapshot of the good file")
            until(lambda: metric(folder, "tare_watch_rounds_total")[0] > 5, "rounds")
            assert metric(folder, "tare_watch_failures_total") == [2]
            watcher.terminate()
            _, lines = watcher.communicate(timeout=60)
    assert len(lines.splitlines()) == 2
    assert f"tare: {folder}/1.0.watch" in lines and f"{folder}/2.0.watch" in lines


@pytest.fixture
def small_group() -> Iterator[Path]:
    with memory_group(64 * MIB) as group:
        yield group
        until(lambda: not (group / "cgroup.procs").read_text(), "the group is empty")


def test_an_out_of_memory_kill_is_stated(tare: Tare, folder: Path, small_group: Path) -> None:
    with watching(tare, folder, "--every", "100ms"), growing(folder, *inside(small_group)) as program:
        grow(program, 5)
        until(lambda: snapshots(folder, "timer"), "a snapshot before")
        with pytest.raises((BrokenPipeError, EOFError)):
            grow(program, 100)
        assert program.wait(60) == -signal.SIGKILL
        until(lambda: snapshots(folder, "killed"), "the final snapshot")
    text = " ".join(tare("report", f"{folder}@last").stdout.split())
    assert "the process was killed by the out-of-memory killer: the control group" in text
    assert f"{small_group} counted 1 such kill (0 to 1)" in text
    assert "its memory limit was 64.0 MiB" in text
    end = tare.report(f"{folder}@last")["watched_end"]
    assert (end["out_of_memory"], end["kills_before"], end["kills_after"]) == ("yes", 0, 1)
    assert end["limit_bytes"] == 64 * MIB and end["group"] == str(small_group)
    assert 20 * MIB < end["live_bytes"] < 64 * MIB
    assert "remember" in json.dumps(end["growth"]["sites"][0]["stack"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB, for tests that may mount one."""
    made = tmp_path / "disk"
    made.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", made], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr}")
    yield made
    subprocess.run(["umount", "-l", made], check=True)


def test_a_full_disk_costs_the_oldest_snapshots(tare: Tare, small_disk: Path) -> None:
    with growing(small_disk) as program, watching(tare, small_disk, "--every", "100ms") as watcher:
        for _ in range(5):
            count = len(snapshots(small_disk))
            grow(program, 1)
            until(lambda count=count: len(snapshots(small_disk)) > count, "one more snapshot")  # type: ignore[misc]
        oldest = snapshots(small_disk)[0]
        free = os.statvfs(small_disk).f_bavail * 4096
        (small_disk / "other").write_bytes(bytes(free - 300_000))  # less than a twentieth is left
        grow(program, 1)
        until(lambda: not oldest.exists(), "the oldest snapshot goes")
        watcher.terminate()
        _, lines = watcher.communicate(timeout=60)
        assert "No space left on device, even without the oldest snapshots: free some" in lines
        grow(program, 1)  # it runs on
        now = tare("report", f"{small_disk}/{program.pid}.0.watch")
        assert now.returncode == 0 and "remember" in now.stdout, now.stderr


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server isn't installed")
def test_redis(tare: Tare, folder: Path) -> None:
    """Loaded, watched, compared over time, and killed."""
    path = tare.folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", tare.folder]
    with running(command, env=environment(folder), stdout=subprocess.DEVNULL) as server:
        until(path.exists, "the server listens")
        with watching(tare, folder, "--every", "300ms"):
            fill(path, range(2_000))
            until(lambda: snapshots(folder, "timer"), "a first snapshot")
            (before, *_) = json.loads(ask(folder, "POST /snapshot"))["snapshots"]
            fill(path, range(2_000, 42_000))
            changes = tare("diff", folder / "snapshots" / before, f"{folder}@now", "--json")
            assert changes.returncode == 0, changes.stderr
            (grown, *_) = json.loads(changes.stdout)["sites"]
            assert grown["gross_bytes_peak"]["change"] > 10 * MIB  # 40,000 values of 1,000 bytes, of a few sites
            server.kill()
            server.wait()
            until(lambda: snapshots(folder, "killed"), "the final snapshot")
    end = tare.report(f"{folder}@last")["watched_end"]
    assert end["out_of_memory"] == "no"
    assert end["live_bytes"] > 40_000 * 1000


def fill(path: Path, keys: range) -> None:
    """Sets values of 1,000 bytes."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))
        answers = peer.makefile("rb")
        for key in keys:
            name = f"key:{key}".encode()
            peer.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1000\r\n%s\r\n" % (len(name), name, b"v" * 1000))
            assert answers.readline() == b"+OK\r\n"


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="sqlite3 isn't installed")
def test_sqlite(tare: Tare, folder: Path) -> None:
    script = (
        "create table t(a, b); "
        "insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) "
        "select i, hex(randomblob(40)) from n;\n"
    )
    with running(
        ["sqlite3", ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(folder)
    ) as shell:
        assert shell.stdin is not None and shell.stdout is not None
        shell.stdin.write(f"{script}select 'done';\n")
        shell.stdin.flush()
        assert shell.stdout.readline() == "done\n"
        now = tare.report(f"{folder}@now")  # without a watcher
        assert now["peak"]["gross_bytes"] > 200_000 * 80
        shell.kill()
        shell.wait()
    with watching(tare, folder):
        until(lambda: snapshots(folder, "killed"), "the snapshot of a process that was killed before")
    assert tare.report(f"{folder}@last")["watched_end"]["out_of_memory"] in ("unknown", "no")
