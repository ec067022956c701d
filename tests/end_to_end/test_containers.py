"""Programs in containers: another root, other mounts, process numbers and users; the launcher is outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Tare

    Build = Callable[..., Path]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes mounts and process numbers of its own")
OTHER_MOUNTS = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")
OTHER_USERS = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc")


def library_of(tare: Tare) -> str:
    return tare("attach", "--library").stdout.strip()


@contextmanager
def contained(tare: Tare, namespaces: tuple[str, ...], program: Path, room: str = "64m") -> Iterator[int]:
    """The program's number outside. Inside, the program is /mnt/steady, which doesn't exist outside."""
    folder = tare.folder / "container"
    folder.mkdir(exist_ok=True)
    environment = f"LD_PRELOAD={library_of(tare)} TARE_START_PAUSED=1"
    tmpfs = f"mount -t tmpfs -o size={room} none"
    script = f"{tmpfs} /mnt && cp {program} /mnt/steady && {tmpfs} /dev/shm && {tmpfs} /tmp && exec env {environment} /mnt/steady /mnt/count"
    process = subprocess.Popen(
        [*namespaces, "sh", "-c", script], cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield started(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()


def started(process: subprocess.Popen[str]) -> int:
    """Waits until the program has taken the place of the shell."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if process.poll() is not None:
            assert process.stderr
            error = process.stderr.read()
            if "unshare failed" in error or "permission denied" in error:
                pytest.skip(f"no container can be made: {error}")
            raise AssertionError(error)
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text().strip() == "steady":
                return int(child)
        time.sleep(0.05)
    raise AssertionError("the program didn't start")


@pytest.fixture
def alpine_root(tare: Tare) -> Path:
    """A root folder with musl and nothing else, as a container of Alpine Linux has; the recorder is mounted in."""
    compiler, loader = shutil.which("musl-gcc"), Path("/lib/ld-musl-x86_64.so.1")
    if compiler is None or not loader.exists():
        pytest.skip("musl-tools isn't installed")
    root = tare.folder / "root"
    for folder in ("lib", "proc", "dev/shm", "tmp", "tare"):
        (root / folder).mkdir(parents=True)
    shutil.copy(loader, root / "lib")
    shutil.copy(library_of(tare), root / "tare")
    source = Path(__file__).parent / "programs/steady.c"
    flags = ["-O1", "-g", "-pthread", "-Wl,--eh-frame-hdr", "-Wl,--build-id"]
    subprocess.run([compiler, *flags, str(source), "-o", str(root / "steady")], check=True)
    return root


def folders_of(pid: int) -> list[str]:
    return [name for name in os.listdir(f"/proc/{pid}/root/dev/shm") if name.startswith("tare-")]


@pytest.mark.parametrize("namespaces", [OTHER_MOUNTS, OTHER_USERS], ids=["mounts", "users"])
def test_a_process_in_a_container_is_attached_to_from_outside(
    tare: Tare, program: Build, namespaces: tuple[str, ...]
) -> None:
    with contained(tare, namespaces, program("steady.c", "-Wl,--build-id")) as pid:
        for number, options in enumerate([(), ("--snapshots",)]):
            done = tare("attach", str(pid), "-o", f"{number}.tare", "--for", "1", *options)
            assert done.returncode == 0, done.stderr
            assert "main steady.c" in done.stderr, "names come from the container's files"
            assert folders_of(pid) == []
        with_root = report(tare, "0.tare", {"TARE_SYMBOLS": f"/proc/{pid}/root"})
    assert any(each["function"] == "main" for each in with_root["findings"])
    (process,) = tare.sql(tare.folder / "1.tare", "select * from process")
    assert process["events"] > 1000
    assert process["impossible_events"] == 0
    (snapshot,) = tare.sql(tare.folder / "1.tare", "select * from snapshots where kind = 'exit'")
    assert snapshot["blocks"] >= 999
    text = tare("report", "0.tare", env={"TARE_SYMBOLS": ""})
    assert "/mnt/steady: it doesn't exist here" in " ".join(text.stdout.split())


def test_a_container_of_alpine_is_attached_to_from_a_host_with_glibc(tare: Tare, alpine_root: Path) -> None:
    mounts = f"mount -t proc none {alpine_root}/proc && mount -t tmpfs -o size=64m none {alpine_root}/dev/shm"
    preloaded = "LD_PRELOAD=/tare/libtare-record.so TARE_START_PAUSED=1"
    process = subprocess.Popen(
        [*OTHER_MOUNTS, "sh", "-c", f"{mounts} && {preloaded} exec chroot {alpine_root} /steady /count"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        done = tare("attach", str(started(process)), "-o", "a.tare", "--for", "1", "--snapshots")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()
    assert done.returncode == 0, done.stderr
    assert "main steady.c" in done.stderr
    (facts,) = tare.sql(tare.folder / "a.tare", "select * from process")
    assert facts["allocator"] == "musl"
    assert facts["events"] > 1000
    assert facts["impossible_events"] == facts["dropped_events"] == 0


def report(tare: Tare, name: str, env: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    shutil.rmtree(tare.folder / f".{name}.cache", ignore_errors=True)
    done = tare("report", name, "--lens", "headers", "--json", env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return found


def test_commands_reach_the_launcher_of_a_process_in_a_container(tare: Tare, program: Build) -> None:
    with contained(tare, OTHER_MOUNTS, program("steady.c")) as pid:
        attach = subprocess.Popen(
            [tare.command, "attach", str(pid), "-q", "-o", "a.tare"], cwd=tare.folder, stderr=subprocess.PIPE
        )
        try:
            end = time.monotonic() + 60
            while not (folders_of(pid) and tare("pause", str(pid)).returncode == 0):
                assert time.monotonic() < end
                time.sleep(0.05)
            assert "is recorded again" in tare("resume", str(pid)).stdout
        finally:
            attach.terminate()
            attach.communicate(timeout=60)
        assert folders_of(pid) == []


def test_a_container_without_room_is_one_line(tare: Tare, program: Build) -> None:
    with contained(tare, OTHER_MOUNTS, program("steady.c"), "1m") as pid:
        done = tare("attach", str(pid), "-o", "a.tare")
    assert done.returncode == 4
    assert "no place for the recording's buffers in the root of process" in done.stderr
    assert done.stderr.count("\n") == 1
