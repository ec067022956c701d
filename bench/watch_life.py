"""Do watched services stay bounded? redis, nginx, Postgres and a JVM run under load with `tare watch` on small limits, and are killed at random with
their watchers. Samples the watchers' memory and CPU time and the folders' bytes, reads the newest snapshot after each kill, writes
docs/watch-measured.md, and fails where memory or disk grow after the first part of the run, or a snapshot can't be read.

`.venv/bin/python bench/watch_life.py --seconds 3600`. As root: Postgres runs as nobody.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from account_programs import NOBODY, postgres_binary
from harness.measure import ROOT
from long_life import MIB, bytes_of, growth, resident_bytes

PERIOD_S = 5.0
SAMPLE = "64K"
LIMITS = ["--every", "5s", "--poll", "1s", "--keep-count", "24", "--keep-bytes", "8M"]
MOST_GROWTH = 0.15  # of the first quarter's median, after the settling time
MOST_FILE_BYTES = 4 * MIB

_NGINX = """
daemon off; worker_processes 1; pid nginx.pid; error_log stderr; events {}
http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server { listen 127.0.0.1:18091; root .; gzip on; gzip_types *; } }
"""
_JAVA = """
import java.util.zip.Deflater;
public class Packer {
  public static void main(String[] words) throws Exception {
    byte[] out = new byte[1 << 16], in = new byte[1 << 16];
    for (int i = 0; i < in.length; i++) in[i] = (byte) (i * 31);
    Deflater[] kept = new Deflater[16];
    for (long round = 0; ; round++) {
      int place = (int) (round % kept.length);
      if (kept[place] != null) kept[place].end();
      kept[place] = new Deflater();
      kept[place].setInput(in); kept[place].finish();
      while (!kept[place].finished()) kept[place].deflate(out);
      Thread.sleep(20);
    }
  }
}
"""


class Service(NamedTuple):
    name: str
    command: list[str]
    load: list[str]  # runs again and again; empty: the program is its own load
    as_nobody: bool = False


class Sample(NamedTuple):
    seconds: float
    watcher_bytes: int
    watch_file_bytes: int
    snapshot_bytes: int
    snapshots: int


@dataclass
class Running:
    """A service, its watcher and its load; each is started again after a kill."""

    service: Service
    folder: Path
    work: Path
    program: subprocess.Popen[bytes] | None = None
    watcher: subprocess.Popen[bytes] | None = None
    load: subprocess.Popen[bytes] | None = None
    samples: list[Sample] = field(default_factory=list)
    cpu_s: float = 0.0  # of watchers that ended
    kills: dict[str, int] = field(default_factory=lambda: {"program": 0, "watcher": 0, "both": 0})
    unread: list[str] = field(default_factory=list)

    def keep_running(self, tare: str, recorder: str) -> None:
        if self.watcher is None or self.watcher.poll() is not None:
            self.watcher = subprocess.Popen([tare, "watch", "--serve", self.folder, *LIMITS], stderr=subprocess.DEVNULL)
        if self.program is None or self.program.poll() is not None:
            with suppress(FileNotFoundError):
                (self.work / "data/postmaster.pid").unlink()  # of a killed Postgres
            self.program = subprocess.Popen(
                self.service.command,
                cwd=self.work,
                env={**os.environ, "LD_PRELOAD": recorder, "TARE_WATCH": str(self.folder), "TARE_SAMPLE": SAMPLE},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        if self.service.load and (self.load is None or self.load.poll() is not None):
            load = ["sh", "-c", '"$@"; sleep 5', "sh", *self.service.load]  # the machine is shared
            self.load = subprocess.Popen(
                load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )

    def sample(self, seconds: float) -> None:
        if self.watcher is None or self.watcher.poll() is not None:
            return
        with suppress(OSError, RuntimeError):
            snapshots = list((self.folder / "snapshots").glob("*.tare"))
            self.samples.append(
                Sample(
                    seconds,
                    resident_bytes(self.watcher.pid),
                    max((bytes_of([file]) for file in self.folder.glob("*.watch")), default=0),
                    bytes_of(snapshots),
                    len(snapshots),
                )
            )

    def kill(self, which: str) -> None:
        """By SIGKILL, without a word before."""
        self.kills[which] += 1
        if which in ("watcher", "both") and self.watcher is not None:
            self.cpu_s += cpu_s(self.watcher.pid)
            self.watcher.kill()
            self.watcher.wait()
        if which in ("program", "both") and self.program is not None:
            os.killpg(self.program.pid, signal.SIGKILL)
            self.program.wait()

    def read_newest(self, tare: str) -> None:
        done = subprocess.run(
            [tare, "report", f"{self.folder}@last", "--json"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            self.unread.append(
                done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}"
            )
        elif json.loads(done.stdout)["impossible_events"] != 0:
            self.unread.append("impossible events")

    def end(self) -> None:
        for process in (self.load, self.program):
            if process is not None and process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self.watcher is not None and self.watcher.poll() is None:
            self.cpu_s += cpu_s(self.watcher.pid)
            self.watcher.terminate()
            self.watcher.wait()


def cpu_s(pid: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def services(work: Path) -> list[Service]:
    found = []
    if shutil.which("redis-server"):
        load = [
            "redis-benchmark",
            "-q",
            "-p",
            "18090",
            "-t",
            "set,lpush,hset",
            "-r",
            "20000",
            "-d",
            "200",
            "-n",
            "200000",
        ]
        command = [
            "redis-server",
            "--port",
            "18090",
            "--save",
            "",
            "--maxmemory",
            "64mb",
            "--maxmemory-policy",
            "allkeys-random",
        ]
        found.append(Service("redis", command, load))
    if shutil.which("nginx") and shutil.which("ab"):
        (work / "nginx").mkdir()
        (work / "nginx/nginx.conf").write_text(_NGINX)
        (work / "nginx/page.html").write_text("<table>" + "<tr><td>parcel" * 5000)
        load = ["ab", "-q", "-c", "4", "-n", "5000", "-H", "Accept-Encoding: gzip", "http://127.0.0.1:18091/page.html"]
        found.append(Service("nginx", ["nginx", "-p", f"{work}/nginx", "-c", "nginx.conf"], load))
    if Path(postgres_binary("postgres")).exists() and os.geteuid() == 0:
        (work / "postgres").mkdir()
        shutil.chown(work / "postgres", "nobody", "nogroup")
        data = str(work / "postgres/data")
        subprocess.run(
            [*NOBODY, postgres_binary("initdb"), "-D", data, "-A", "trust"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )
        server = [
            *NOBODY,
            postgres_binary("postgres"),
            "-D",
            data,
            "-p",
            "18092",
            "-k",
            f"{work}/postgres",
            "-c",
            "fsync=off",
        ]
        common = ["-h", "127.0.0.1", "-p", "18092", "-U", "nobody", "postgres"]
        bench = postgres_binary("pgbench")
        load = ["sh", "-c", f"{bench} -i -q {' '.join(common)}; {bench} -c 2 -T 20 {' '.join(common)}"]
        found.append(Service("postgres", server, load, as_nobody=True))
    if shutil.which("javac"):
        (work / "java").mkdir()
        (work / "java/Packer.java").write_text(_JAVA)
        subprocess.run(["javac", "Packer.java"], cwd=work / "java", check=True)
        found.append(Service("java", ["java", "-XX:+UseSerialGC", "-Xmx64m", "-cp", str(work / "java"), "Packer"], []))
    return found


def verdicts(running: Running, settled_s: float) -> list[str]:
    """What isn't as it has to be; nothing is a good end."""
    late = [sample for sample in running.samples if sample.seconds >= settled_s]
    wrong = [f"a snapshot couldn't be read: {each}" for each in dict.fromkeys(running.unread)]
    if len(late) < 8:
        return [*wrong, f"only {len(late)} samples"]
    for name, values in (
        ("the watcher's memory", [s.watcher_bytes for s in late]),
        ("the snapshots' bytes", [s.snapshot_bytes for s in late]),
    ):
        if (grown := growth(values)) > MOST_GROWTH:
            wrong.append(f"{name} grew by {grown:.0%}")
    if (most := max(s.watch_file_bytes for s in late)) > MOST_FILE_BYTES:
        wrong.append(f"a file of {most / MIB:.1f} MiB")
    return wrong


def page(every: list[Running], seconds: float, settled_s: float) -> str:
    rows = []
    for each in every:
        late = [s for s in each.samples if s.seconds >= settled_s] or each.samples
        quarter = max(len(late) // 4, 1)
        first, last = late[:quarter], late[-quarter:]

        def mib(samples: list[Sample], name: str) -> str:
            return f"{statistics.median(getattr(s, name) for s in samples) / MIB:.1f}"

        rows.append(
            f"| {each.service.name} | {mib(first, 'watcher_bytes')} | {mib(last, 'watcher_bytes')} | {mib(first, 'snapshot_bytes')} | "
            f"{mib(last, 'snapshot_bytes')} | {max(s.watch_file_bytes for s in late) / MIB:.2f} | {max(s.snapshots for s in late)} | "
            f"{100 * each.cpu_s / seconds:.2f} % | {each.kills['program']} + {each.kills['watcher']} + {each.kills['both']} | "
            f"{'; '.join(verdicts(each, settled_s)) or 'none'} |"
        )
    return "\n".join(
        [
            "# Watched services, measured",
            "",
            f"`bench/watch_life.py` ran services under load for {seconds / 60:.0f} minutes, on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} shared processors, Linux",
            f"{platform.release()}, each with `TARE_SAMPLE={SAMPLE}` and `tare watch --serve FOLDER {' '.join(LIMITS)}`. At random times it killed the program, the",
            "watcher or both by SIGKILL, read the newest snapshot, and started again what was killed.",
            "",
            f"Medians of the first and the last quarter of the time after {settled_s / 60:.1f} minutes. The bench fails where the watcher's memory or the bytes of the snapshots grow",
            f"by more than {MOST_GROWTH:.0%} (of a MiB at least), or a process' file has more than {MOST_FILE_BYTES // MIB} MiB on disk.",
            "",
            "| service | watcher, MiB | at the end | snapshots, MiB | at the end | largest file of a process, MiB | snapshots | watcher's CPU time | kills: program, watcher, both | wrong |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--kills", type=int, default=100, help="over all services")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where watch-measured.md is written")
    options = parser.parse_args()
    recorder = subprocess.run(
        [options.tare, "attach", "--library"], check=True, capture_output=True, text=True
    ).stdout.strip()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        work = Path(made)
        work.chmod(0o755)
        every = []
        for service in services(work):
            place = work / service.name
            place.mkdir(exist_ok=True)
            folder = work / f"{service.name}-heap"
            folder.mkdir()
            if service.as_nobody:
                shutil.chown(folder, "nobody", "nogroup")
            every.append(Running(service, folder, place))
        begin = time.monotonic()
        kill_times = sorted(chance.uniform(20, max(options.seconds - 10, 21)) for _ in range(options.kills))
        next_sample = 0.0
        try:
            while (seconds := time.monotonic() - begin) < options.seconds:
                for each in every:
                    each.keep_running(options.tare, recorder)
                if seconds >= next_sample:
                    next_sample = seconds + PERIOD_S
                    for each in every:
                        each.sample(seconds)
                if kill_times and seconds >= kill_times[0]:
                    kill_times.pop(0)
                    chosen = chance.choice(every)
                    chosen.kill(chance.choice(("program", "watcher", "both")))
                    chosen.read_newest(options.tare)
                time.sleep(0.5)
        finally:
            for each in every:
                each.end()
        settled_s = min(600.0, options.seconds / 4)
        options.docs.mkdir(parents=True, exist_ok=True)
        text = page(every, options.seconds, settled_s)
        (options.docs / "watch-measured.md").write_text(text)
    print(text)
    return 1 if any(verdicts(each, settled_s) for each in every) else 0


if __name__ == "__main__":
    sys.exit(main())
