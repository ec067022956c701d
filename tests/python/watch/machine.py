"""A machine made of files: /proc, control groups, and a folder whose watched files are JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tare.errors import CORRUPT, TareError
from tare.watch.folder import Folder
from tare.watch.pressure import Groups
from tare.watch.process import Processes
from tare.watch.reader import Facts
from tare.watch.watcher import Clock, Settings, Watcher

BOOT = "5c8b4b2e-0000-4000-8000-000000000001"
START_NS = 1_795_000_000 * 10**9  # 2026-11-18, a while before 12:00 UTC
MIB = 1 << 20


def read_facts(path: str, shown: str) -> Facts:
    try:
        return Facts(**json.loads(Path(path).read_text()))
    except (ValueError, TypeError):
        raise TareError(CORRUPT, f"{shown}: no watched file") from None


def write_trace(path: str, out: str, shown: str) -> None:
    facts = read_facts(path, shown)
    Path(out).write_text(f"recording of {facts.process_id} with {facts.live_bytes:.0f} bytes\n")


class HandClock(Clock):
    """Moved by the test."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.jumped_ns = 0

    def monotonic_s(self) -> float:
        return self.now_s

    def realtime_ns(self) -> int:
        return START_NS + round((self.now_s - 1000.0) * 1e9) + self.jumped_ns


class Machine:
    def __init__(self, root: Path, version: int = 2) -> None:
        self.root = root
        self.folder = root / "heap"
        self.folder.mkdir()
        self.clock = HandClock()
        self.lines: list[str] = []
        self.proc = root / "proc"
        (self.proc / "sys/kernel/random").mkdir(parents=True)
        (self.proc / "sys/kernel/random/boot_id").write_text(f"{BOOT}\n")
        (self.proc / "self/ns").mkdir(parents=True)
        (self.proc / "self/ns/pid").write_text("")
        (self.proc / "vmstat").write_text("oom_kill 5\n")
        self.cgroups = root / "sys/fs/cgroup"
        self.cgroups.mkdir(parents=True)
        self.use_version(version)

    def use_version(self, version: int) -> None:
        kind = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,memory"
        (self.proc / "self/mountinfo").write_text(f"30 23 0:26 / /sys/fs/cgroup rw,nosuid - {kind}\n")

    def watcher(self, **settings: Any) -> Watcher:
        return Watcher(
            Folder(str(self.folder)),
            Settings(**settings),
            self.lines.append,
            clock=self.clock,
            processes=Processes(str(self.proc)),
            groups=Groups(str(self.root)),
        )

    def group(self, name: str, *, oom_kills: int = 0, high: int = 0, limit: str = "max", pressure: str = "") -> Path:
        folder = self.cgroups / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.events").write_text(f"low 0\nhigh {high}\nmax 0\noom 0\noom_kill {oom_kills}\n")
        (folder / "memory.max").write_text(f"{limit}\n")
        if pressure:
            (folder / "memory.pressure").write_text(
                f"some avg10={pressure} avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n"
            )
        return folder

    def start(self, pid: int, ticks: int = 777, *, group: str = "", inner_pid: int = 0, rss_pages: int = 100) -> None:
        """In /proc; `inner_pid`: its number in its own PID namespace."""
        folder = self.proc / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} (a ) b) S 1 {' '.join(['0'] * 17)} {ticks} 0 0\n")
        (folder / "statm").write_text(f"1000 {rss_pages} 0 0 0 0 0\n")
        (folder / "status").write_text(
            f"Name:\ta\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nNSpid:\t{pid}{f'	{inner_pid}' if inner_pid else ''}\n"
        )
        (folder / "cgroup").write_text(f"0::/{group}\n" if group else "")

    def end(self, pid: int) -> None:
        for path in (self.proc / str(pid)).iterdir():
            path.unlink()
        (self.proc / str(pid)).rmdir()

    def write(self, pid: int, live_bytes: float = MIB, *, number: int = 0, **changed: Any) -> Path:
        """The file of a process."""
        now_ns = self.clock.realtime_ns()
        facts: dict[str, Any] = {
            "process_id": pid,
            "process_start_ticks": 777,
            "boot_id": BOOT,
            "executable": "/usr/bin/redis-server",
            "began_ns": START_NS - 10**9,
            "updated_ns": now_ns,
            "sample_bytes": 512 << 10,
            "live_bytes": live_bytes,
            "live_bytes_error": 0.1 * MIB,
            "live_samples": 12,
            "allocated_bytes": live_bytes,
            "allocated_blocks": live_bytes / 100,
            "freed_bytes": 0.0,
            "freed_blocks": 0.0,
            "ended": False,
            "stopped": "",
            "budget_cpu_share": 0.0,
            "budget_memory_bytes": 0,
            "budget_disk_bytes": 0,
            "recorder_ns": 0,
            "process_ns": 0,
            "first_sample_bytes": 512 << 10,
            **changed,
        }
        path = self.folder / f"{pid}.{number}.watch"
        path.write_text(json.dumps(facts))
        path.chmod(0o600)
        return path

    def names(self) -> list[str]:
        """Of snapshots, the oldest first."""
        return sorted(
            (path.name for path in (self.folder / "snapshots").glob("*.tare")), key=lambda n: n.split(".")[-4]
        )

    def reasons(self) -> list[str]:
        return [name.split(".")[-3] for name in self.names()]
