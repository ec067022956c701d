"""`tare attach` to thirteen running programs that nobody prepared, again and again under load: they work on, and every event is possible."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Build, Tare

ATTACHES = int(os.environ.get("TARE_ATTACHES", "100"))
KILLS = int(os.environ.get("TARE_ATTACH_KILLS", "20"))
pytestmark = [pytest.mark.nightly, pytest.mark.skipif(os.geteuid() != 0, reason="other users, roots and filters")]
PROGRAMS = Path(__file__).parent.parent / "programs"

# Each round must have the first one's result. The program ends, with status 0, when the file `stop` exists.
PYTHON = """
import hashlib, json, os, threading
def work(kept):
    digest = hashlib.sha256()
    for i in range(100):
        digest.update(json.dumps({str(j): [j] * (j % 50) for j in range(200)}).encode())
        kept[i % 40] = bytearray(i * 700)
    return digest.hexdigest()
def rounds():
    first = work({})
    while not os.path.exists("stop"):
        if work({}) != first: os._exit(1)
threads = [threading.Thread(target=rounds) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
NODE = """
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs');
const work = () => { const digest = crypto.createHash('sha256');
  for (let i = 0; i < 50; ++i) digest.update(zlib.deflateSync(Buffer.alloc(5000 + i * 500, i)));
  return digest.digest('hex'); };
const first = work();
const step = () => { if (work() !== first) process.exit(1); if (!fs.existsSync('stop')) setTimeout(step, 1); };
step();
"""
JAVA = """
import java.nio.ByteBuffer; import java.util.zip.Deflater;
public class Rounds {
  static long work() { long sum = 0; byte[] out = new byte[60000];
    for (int i = 0; i < 100; ++i) { Deflater deflater = new Deflater(); deflater.setInput(new byte[20000 + i]); deflater.finish();
      sum += deflater.deflate(out) + out[3]; deflater.end();
      ByteBuffer buffer = ByteBuffer.allocateDirect(1000 + i); buffer.put(0, (byte) i); sum += buffer.get(0); }
    return sum; }
  public static void main(String[] arguments) throws Exception {
    Thread[] threads = new Thread[2];
    for (int k = 0; k < 2; ++k) { threads[k] = new Thread(() -> { long first = work();
      while (!new java.io.File("stop").exists()) if (work() != first) Runtime.getRuntime().halt(1); }); threads[k].start(); }
    for (Thread thread : threads) thread.join(); } }
"""
PERL = """
sub work { my $sum = 0; my %kept; $kept{$_ x ($_ % 30)} = "x" x $_ for 1 .. 500;
  $sum += length join ",", map { "$_$kept{$_}" } sort keys %kept; $sum }
my $first = work(); until (-e "stop") { exit 1 if work() != $first }
"""
RUST = """
use std::{collections::HashMap, path::Path, thread};
fn work() -> u64 { let mut kept: HashMap<u64, Vec<u8>> = HashMap::new(); let (mut next, mut sum) = (1u64, 0u64);
  for _ in 0..20000 { next = next.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    let key = (next >> 33) % 1000; let mut block = vec![0u8; ((next >> 20) % 4000) as usize + 1]; block[0] = key as u8;
    if let Some(old) = kept.insert(key, block) { assert!(old[0] == key as u8); sum += old.len() as u64; } }
  sum }
fn main() { let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| { let first = work();
    while !Path::new("stop").exists() { assert!(work() == first); } })).collect();
  for thread in threads { thread.join().unwrap(); } }
"""


class Subject:
    """A running program, and the process that is attached to; `finish` ends it and asserts that it worked."""

    def __init__(self, pid: int, finish: Callable[[], None]) -> None:
        self.pid = pid
        self.finish = finish


@contextmanager
def process(*command: str | Path, cwd: Path, end: int = signal.SIGKILL) -> Iterator[subprocess.Popen[bytes]]:
    """`end`: the signal by which a server ends its workers, too."""
    with open(cwd / "output", "wb") as output:
        started = subprocess.Popen([*map(str, command)], cwd=cwd, stdout=output, stderr=output)
    try:
        yield started
    finally:
        started.send_signal(end)
        started.wait(timeout=60)


@contextmanager
def rounds(*command: str | Path, cwd: Path) -> Iterator[Subject]:
    with process(*command, cwd=cwd) as started:

        def finish() -> None:
            (cwd / "stop").touch()
            assert started.wait(timeout=120) == 0, (cwd / "output").read_text()

        time.sleep(2)
        yield Subject(started.pid, finish)


def needs(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"{command} isn't installed")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def answer_to(query: list[str]) -> str:
    """Of a server that may still be starting."""
    deadline = time.monotonic() + 60
    while not (answer := subprocess.run(query, capture_output=True, text=True).stdout):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return answer


@contextmanager
def redis(folder: Path, _: Build) -> Iterator[Subject]:
    needs("redis-server", "redis-benchmark")
    port = str(free_port())
    load = ["redis-benchmark", "-p", port, "-t", "set,get,lpush,lpop", "-l", "-q", "-d", "300"]
    with ExitStack() as stack:
        server = stack.enter_context(process("redis-server", "--port", port, "--save", "", cwd=folder))
        time.sleep(1)
        (folder / "load").mkdir()
        client = stack.enter_context(process(*load, cwd=folder / "load"))

        def finish() -> None:
            assert server.poll() is None and client.poll() is None
            answer = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, text=True)
            assert answer.stdout == "PONG\n"

        yield Subject(server.pid, finish)


@contextmanager
def nginx(folder: Path, _: Build) -> Iterator[Subject]:
    needs("nginx")
    port = free_port()
    (folder / "page.html").write_text("a page\n" * 1000)
    folder.chmod(0o755)
    (folder / "nginx.conf").write_text(
        f"daemon off; user root; pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        f"http {{ gzip on; gzip_types *; access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n"
    )
    script = (
        "import os, urllib.request\n"
        f"request = urllib.request.Request('http://127.0.0.1:{port}/page.html', headers={{'Accept-Encoding': 'gzip'}})\n"
        "first = urllib.request.urlopen(request).read()\n"
        "while not os.path.exists('stop'):\n  assert urllib.request.urlopen(request).read() == first\n"
    )
    with ExitStack() as stack:
        server = stack.enter_context(
            process("nginx", "-p", folder, "-c", folder / "nginx.conf", cwd=folder, end=signal.SIGTERM)
        )
        time.sleep(1)
        (worker,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        (folder / "load").mkdir()
        client = stack.enter_context(rounds(sys.executable, "-c", script, cwd=folder / "load"))

        def finish() -> None:
            client.finish()
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/page.html").read()
            assert page == (folder / "page.html").read_bytes()

        yield Subject(int(worker), finish)


@contextmanager
def postgres(folder: Path, _: Build) -> Iterator[Subject]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        pytest.skip("postgresql isn't installed")
    port = str(free_port())
    data = folder / "data"
    data.mkdir()
    for path in (folder, *folder.parents):
        with suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o011)
    shutil.chown(data, "postgres")
    as_user = ["setpriv", "--reuid=postgres", "--clear-groups"]
    subprocess.run(
        [*as_user, found[-1] / "initdb", "-D", data, "-A", "trust"], check=True, capture_output=True, cwd="/"
    )
    query = "select sum(length(md5(i::text) || repeat('x', i % 300))) from generate_series(1, 20000) i"
    script = f"do $$ declare first bigint; begin first := ({query}); for number in 1 .. 1000000 loop assert first = ({query}); end loop; end $$"
    connect = ["psql", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-d", "postgres"]
    with ExitStack() as stack:
        command = [*as_user, found[-1] / "postgres", "-D", data, "-p", port, "-c", f"unix_socket_directories={data}"]
        stack.enter_context(process(*command, cwd=folder, end=signal.SIGQUIT))
        answer_to([*connect, "-Atc", "select 1"])
        (folder / "load").mkdir()
        client = stack.enter_context(process(*connect, "-c", script, cwd=folder / "load"))
        which = "select pid from pg_stat_activity where query like 'do %'"
        backend = answer_to([*connect, "-Atc", which])

        def finish() -> None:
            assert client.poll() is None, (folder / "load/output").read_text()
            count = subprocess.run([*connect, "-Atc", which], capture_output=True, text=True, check=True).stdout
            assert count == backend

        yield Subject(int(backend), finish)


def python(folder: Path, _: Build) -> object:
    return rounds(shutil.which("python3", path="/usr/bin") or sys.executable, "-c", PYTHON, cwd=folder)


def node(folder: Path, _: Build) -> object:
    needs("node")
    return rounds("node", "-e", NODE, cwd=folder)


def perl(folder: Path, _: Build) -> object:
    return rounds("perl", "-e", PERL, cwd=folder)


def java(folder: Path, _: Build) -> object:
    needs("java", "javac")
    (folder / "Rounds.java").write_text(JAVA)
    subprocess.run(["javac", "Rounds.java"], cwd=folder, check=True)
    return rounds("java", "-cp", folder, "Rounds", cwd=folder)


def rust(folder: Path, _: Build) -> object:
    needs("rustc")
    (folder / "rounds.rs").write_text(RUST)
    subprocess.run(["rustc", "-O", "rounds.rs"], cwd=folder, check=True)
    return rounds(folder / "rounds", cwd=folder)


def service(folder: Path, build: Build) -> object:
    return rounds(build(str(PROGRAMS / "unprepared.cc")), "20000", "4", "1", "stop", cwd=folder)


def within_malloc(folder: Path, build: Build) -> object:
    return rounds(build(str(PROGRAMS / "unprepared.cc")), "3000000", "1", "0", "stop", cwd=folder)


def forking(folder: Path, build: Build) -> object:
    return rounds(build(str(PROGRAMS / "unprepared_forks.c")), "stop", cwd=folder)


def filtered(folder: Path, build: Build) -> object:
    return rounds(build(str(PROGRAMS / "unprepared_filter.c")), "open", "stop", cwd=folder)


def in_chroot(folder: Path, build: Build) -> object:
    built = build(str(PROGRAMS / "unprepared.cc"))
    libraries = subprocess.run(["ldd", built], capture_output=True, text=True, check=True).stdout.split()
    root = folder
    for name in ("tmp", "dev/shm", "proc"):
        (root / name).mkdir(parents=True)
    for path in [str(built), *(word for word in libraries if word.startswith("/"))]:
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.lstrip("/"))
    script = f"mount -t proc none {root}/proc && exec chroot {root} {built} 20000 2 1 /stop"
    return rounds("unshare", "--mount", "sh", "-c", script, cwd=folder)


SUBJECTS = [
    redis, postgres, python, node, nginx, java, rust, service, in_chroot, filtered, within_malloc, forking, perl
]  # fmt: skip


def recorded_events(tare: Tare, pid: int, seconds: str, *options: str) -> int:
    """All of them possible; 0 if it allocated nothing meanwhile."""
    trace = tare.folder / "t.tare"
    done = tare("attach", str(pid), "-q", "-o", "t.tare", "--for", seconds, *options)
    assert done.returncode == 0, (options, done.stderr)
    if not trace.exists():
        return 0
    (facts,) = tare.sql(trace, "select alloc_events, impossible_events, dropped_events from process")
    assert facts["impossible_events"] == 0, (options, facts)
    trace.unlink()
    return int(facts["alloc_events"])


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__name__)
def test_a_program_is_attached_to_again_and_again(tare: Tare, build: Build, subject: Callable[..., object]) -> None:
    folder = tare.folder / "program"
    folder.mkdir()
    with subject(folder, build) as running:  # type: ignore[attr-defined]
        events = 0
        for number in range(ATTACHES):
            options = [[], ["--sample", "64K"], ["--free-stacks"]][number % 3]
            events += recorded_events(tare, running.pid, "0.05" if number % 5 else "0.5", *options)
        # On a busy machine, a program does little in 0.05 s.
        while events <= 10 * ATTACHES:
            more = recorded_events(tare, running.pid, "5")
            assert more > 0
            events += more
        running.finish()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.__name__)
def test_a_program_survives_killed_attaches(tare: Tare, build: Build, subject: Callable[..., object]) -> None:
    """Killed while the recorder is loaded, while it records, or while it is detached, by chance."""
    folder = tare.folder / "program"
    folder.mkdir()
    chance = random.Random(subject.__name__)
    with subject(folder, build) as running:  # type: ignore[attr-defined]
        command = [tare.command, "attach", str(running.pid), "-q", "-o", "killed.tare", "--for", "0.3"]
        start = time.monotonic()
        subprocess.run(command, cwd=tare.folder, check=True)
        whole = time.monotonic() - start
        killed = 0
        for _ in range(KILLS):
            with subprocess.Popen(command, cwd=tare.folder, stderr=subprocess.DEVNULL) as attach:
                time.sleep(chance.uniform(0, 1.1 * whole))
                attach.kill()
            killed += attach.returncode == -signal.SIGKILL
            assert "State:\tZ" not in Path(f"/proc/{running.pid}/status").read_text()
        assert killed >= KILLS / 4  # the others had ended before
        deadline = time.monotonic() + 120
        while recorded_events(tare, running.pid, "1") == 0:
            assert time.monotonic() < deadline
        running.finish()
