"""The image: a root file system with `tare`, which records inside, and attaches to programs of other containers."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
STEADY = REPO / "tests/end_to_end/programs/steady.c"

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    wheels = sorted((REPO / "dist").glob(f"heaptare-*_{platform.machine()}.whl"))
    if not wheels:
        pytest.fail("dist has no wheel: run `make wheel` first")
    folder = tmp_path_factory.mktemp("image")
    build = [REPO / "packaging/image/build.sh", wheels[-1], folder / "tare.tar"]
    subprocess.run(build, check=True, env={**os.environ, "PYTHON": sys.executable})
    root = folder / "root"
    root.mkdir()
    subprocess.run(["tar", "-x", "-C", root, "-f", folder / "tare.tar"], check=True)
    return root


def inside(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A shell command in the image, which sees the host's processes: podman run --pid=host --cap-add=SYS_PTRACE."""
    mounts = f"mount -t tmpfs none {root}/dev/shm && mount --bind /proc {root}/proc"
    (root / "dev/shm").mkdir(exist_ok=True)
    return subprocess.run(
        ["unshare", "--mount", "sh", "-ec", f'{mounts} && exec chroot {root} sh -ec "$0"', command],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_it_records_its_own_programs(image: Path) -> None:
    done = inside(
        image, "cd /work && tare run -o sort.tare -- sort -o sorted /usr/bin/python3 && tare report sort.tare --json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["impossible_events"] == 0


@contextmanager
def other_container(folder: Path, environment: str) -> Iterator[int]:
    """A program with a root, mounts and process numbers of its own; the recorder's file is mounted in."""
    root = folder / "other"
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=extract", "--include=libc6,coreutils", "bookworm", root], check=True
    )
    for name in ("tare", "proc", "dev/shm", "tmp"):
        (root / name).mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-Wl,--build-id", STEADY, "-o", root / "steady"], check=True)
    shutil.copy(folder / "libtare-record.so", root / "tare")
    mounts = f"mount -t proc none {root}/proc && mount -t tmpfs -o size=64m none {root}/dev/shm"
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--ipc", "--uts"]
    process = subprocess.Popen(
        [*namespaces, "sh", "-c", f"{mounts} && {environment} exec chroot {root} /steady /count"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 60
        while True:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if children and Path(f"/proc/{children[0]}/comm").read_text().strip() == "steady":
                break
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield int(children[0])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


@pytest.mark.parametrize(
    "environment", ["LD_PRELOAD=/tare/libtare-record.so TARE_START_PAUSED=1", ""], ids=["prepared", "not prepared"]
)
def test_it_attaches_to_a_program_of_another_container(image: Path, tmp_path: Path, environment: str) -> None:
    library = inside(image, "cat /tare/libtare-record.so | od -An -v -tx1 | tr -d ' \\n'")
    (tmp_path / "libtare-record.so").write_bytes(bytes.fromhex(library.stdout))
    with other_container(tmp_path, environment) as pid:
        done = inside(image, f"cd /work && tare attach {pid} -o a.tare --for 1")
    assert done.returncode == 0, done.stderr
    assert "main steady.c" in done.stderr
    facts = inside(image, "tare sql /work/a.tare 'select events > 1000 as many, impossible_events from process' --json")
    assert json.loads(facts.stdout) == [{"many": True, "impossible_events": 0}]
