"""The recorder of `make wheel`'s wheel in programs of other systems, from glibc 2.23 to 2.41 and musl.

In each system: blocks are counted to the byte, events of threads keep their order, a kill loses no event, and a fork
divides the counts. The launcher runs outside of the system, as it does for a container.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
PROGRAMS = (
    REPO / "tests/packaging/programs/counted_calls.c",
    *(
        REPO / f"tests/end_to_end/programs/{name}.c"
        for name in ("tight_handoff", "tight_realloc", "steady", "fork_children")
    ),
)
UBUNTU = "http://archive.ubuntu.com/ubuntu"
# The C library of each. No Debian whose packages are still served has one between 2.17, the recorder's oldest, and 2.31.
SYSTEMS = {
    "xenial": "2.23",
    "bionic": "2.27",
    "bullseye": "2.31",
    "bookworm": "2.36",
    "trixie": "2.41",
    "musl": "musl",
}
MUSL = Path("/lib/ld-musl-x86_64.so.1")
MODES = {"plain": (), "content": ("--content",), "snapshots": ("--snapshots",)}
MB = 1000 * 1000
# Requested bytes: entry point, blocks, and blocks at the end. See programs/counted_calls.c.
CALLS = {
    10007: ("malloc", 3000, 300),
    10009: ("calloc", 3000, 0),
    10037: ("malloc", 3000, 0),
    10039: ("realloc", 3000, 0),
    10061: ("posix_memalign", 3000, 0),
    10067: ("memalign", 3000, 0),
    10092: ("malloc", 3000, 0),  # strdup's
    10112: ("aligned_alloc", 3000, 0),
    10133: ("malloc", 1, 0),  # the main thread's
}
KILLS = 5
# Freed addresses are taken again at once, by any thread: a wrong order of two events is an impossible event.
TIGHT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1", "MALLOC_ARENA_MAX": "1"}

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's command, installed by pip into an environment of its own."""
    wheel = max((REPO / "dist").glob(f"heaptare-*_{platform.machine()}.whl"), default=None)
    if wheel is None:
        pytest.fail("dist has no wheel: run `make wheel` first")
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True)
    return folder / "bin/tare"


def keyring_of_ubuntu(folder: Path) -> Path:
    """Debian 13's package of Ubuntu's keys, whose signature mmdebstrap checks by Debian's."""
    made = ["mmdebstrap", "--quiet", "--variant=extract", "--include=ubuntu-archive-keyring", "trixie", folder]
    subprocess.run(made, check=True)
    return folder / "usr/share/keyrings/ubuntu-archive-keyring.gpg"


@pytest.fixture(scope="module", params=list(SYSTEMS))
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root folder of a system, with the programs in /tmp, compiled by its own compiler."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    name = str(request.param)
    root = tmp_path_factory.mktemp("system") / name
    if name == "musl":
        # Alpine Linux has no mirror of Debian's kind: its C library alone, without a byte of glibc.
        if shutil.which("musl-gcc") is None or not MUSL.exists():
            pytest.skip("musl-tools isn't installed")
        for folder in ("lib", "tmp", "proc", "dev/shm"):
            (root / folder).mkdir(parents=True)
        shutil.copy(MUSL, root / "lib")
        for source in PROGRAMS:
            out = root / "tmp" / source.stem
            subprocess.run(["musl-gcc", "-O1", "-g", "-Wl,--eh-frame-hdr", source, "-o", out], check=True)
        return root
    made = ["mmdebstrap", "--quiet", "--variant=extract", "--include=base-files,gcc,libc6-dev"]
    source_of = []
    if name in ("xenial", "bionic"):
        made.append(f"--keyring={keyring_of_ubuntu(tmp_path_factory.mktemp('keyring'))}")
        source_of.append(UBUNTU)
    subprocess.run([*made, name, root, *source_of], check=True)
    (root / "dev/shm").mkdir(exist_ok=True)
    for source in PROGRAMS:
        shutil.copy(source, root / "tmp")
        compiled = ["gcc", "-O1", "-g", "-pthread", f"/tmp/{source.name}", "-o", f"/tmp/{source.stem}"]
        subprocess.run(["chroot", root, *compiled], check=True)
    return root


@dataclass
class Recorder:
    """Records programs of a system with the wheel's command."""

    command: Path
    root: Path
    folder: Path

    def words(self, name: str, program: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
        """The command that records the program. The wheel's files and /dev/shm are visible in the system while it runs."""
        (package,) = self.command.parent.parent.glob("lib/python3*/site-packages/tare")
        seen = self.root / package.relative_to("/")
        seen.mkdir(parents=True, exist_ok=True)
        mounts = (
            f"mount --bind {package} {seen} && mount --bind /dev/shm {self.root}/dev/shm"
            f" && mount -t proc proc {self.root}/proc"
        )
        recorded = [str(self.command), "run", "-q", "-o", str(self.folder / name), *options, "--"]
        started = ["chroot", str(self.root), f"/tmp/{program}", *arguments]
        return ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh", *recorded, *started]

    def record(self, name: str, program: str, *, options: Sequence[str] = (), status: int = 0) -> Path:
        environment = {**os.environ, **TIGHT}
        done = subprocess.run(
            self.words(name, program, options=options), env=environment, capture_output=True, text=True, timeout=300
        )
        # A busy machine may stop a thread inside the allocator until the launcher gives up a snapshot. All events are recorded.
        complaints = [line for line in done.stderr.splitlines() if "no snapshot of process" not in line]
        assert (done.returncode, complaints) == (status, []), done
        return self.folder / name

    def others(self, name: str) -> list[Path]:
        """The traces beside `name`: of other processes and of replaced images, each alone or in the container of short ones."""
        found: list[Path] = []
        for path in sorted(self.folder.glob(f"{name}.*")):
            if path.suffix == ".short":
                found += [Path(member["path"]) for member in self.report(path)["members"]]
            else:
                found.append(path)
        return found

    def report(self, trace: Path) -> dict[str, Any]:
        done = subprocess.run([self.command, "report", trace, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def sql(self, trace: Path, query: str) -> list[dict[str, Any]]:
        done = subprocess.run([self.command, "sql", trace, query, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows


@pytest.fixture
def recorder(installed: Path, system: Path, tmp_path: Path) -> Recorder:
    return Recorder(installed, system, tmp_path)


def test_the_system_has_the_c_library_that_it_stands_for(system: Path) -> None:
    name = system.name
    if name == "musl":
        assert not list(system.rglob("libc.so.6"))
    else:
        (library,) = {path.resolve() for path in system.glob("lib/x86_64-linux-gnu/libc.so.6")}
        assert f"stable release version {SYSTEMS[name]}".encode() in library.read_bytes()


@pytest.mark.parametrize("mode", list(MODES))
def test_blocks_are_counted_to_the_byte(recorder: Recorder, mode: str) -> None:
    trace = recorder.record("exact.tare", "counted_calls", options=MODES[mode], status=7)
    rows = recorder.sql(
        trace,
        "select requested_bytes as bytes, api, sum(total_blocks) as blocks, sum(end_blocks) as at_end from site_sizes"
        f" where requested_bytes between {min(CALLS)} and {max(CALLS)} group by 1, 2",
    )
    assert {row["bytes"]: (row["api"], row["blocks"], row["at_end"]) for row in rows} == CALLS
    assert len(rows) == len(CALLS)
    facts = "allocator, impossible_events, dropped_events, pre_existing_frees, unwind_failures, threads"
    assert recorder.sql(trace, f"select {facts} from process") == [
        {
            "allocator": "musl" if recorder.root.name == "musl" else "glibc",
            "impossible_events": 0,
            "dropped_events": 0,
            "pre_existing_frees": 0,
            "unwind_failures": 0,
            "threads": 4,
        }
    ]


@pytest.mark.parametrize("program", ["tight_handoff", "tight_realloc"])
def test_events_of_threads_keep_their_order(recorder: Recorder, program: str) -> None:
    report = recorder.report(recorder.record("order.tare", program))
    assert report["events"] > 2_000_000
    assert (report["dropped_events"], report["impossible_events"]) == (0, 0)
    assert report["end"]["blocks"] <= 4  # the C library's own for the threads


def test_a_kill_loses_no_event(recorder: Recorder) -> None:
    for kill in range(KILLS):
        count = recorder.root / f"tmp/count{kill}"
        count.unlink(missing_ok=True)
        launcher = subprocess.Popen(
            recorder.words(f"{kill}.tare", "steady", f"/tmp/count{kill}"), stderr=subprocess.DEVNULL
        )
        while not count.exists() or count.read_bytes()[:8].strip(b"\0") == b"":
            assert launcher.poll() is None, "the program ended before its first allocation"
            time.sleep(0.002)
        time.sleep(0.05 * kill)
        (pid,) = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
        os.kill(int(pid), signal.SIGKILL)
        assert launcher.wait(timeout=60) == -signal.SIGKILL  # the launcher ends as the program did
        done = int.from_bytes(count.read_bytes()[:8], "little")
        report = recorder.report(recorder.folder / f"{kill}.tare")
        assert (report["dropped_events"], report["impossible_events"]) == (0, 0)
        assert done - 1 <= report["total"]["blocks"] <= done + 10  # the event being written may be lost


def test_a_fork_divides_the_counts(recorder: Recorder) -> None:
    main = recorder.record("fork.tare", "fork_children")
    reports = [recorder.report(trace) for trace in [main, *recorder.others("fork.tare")]]
    found = [report for report in reports if report["program"] == "fork_children"]
    assert [report["impossible_events"] for report in found] == [0, 0, 0]
    parent, child, grandchild = sorted(found, key=lambda report: report["end"]["requested_bytes"])
    assert parent["peak"]["requested_bytes"] == 1 * MB
    assert child["total"]["requested_bytes"] == 7 * MB  # what it inherited isn't its own
    assert grandchild["total"]["requested_bytes"] == 3 * MB
    assert grandchild["end"]["requested_bytes"] == 10 * MB  # inherited 7, own 3
