"""Finding processes and their launchers, on processes of this test's own."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from tare.errors import TareError
from tare.live import launcher_requests


def test_a_program_goes_by_the_name_it_was_started_as(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    (tmp_path / "dozing-server-with-a-long-name").symlink_to(sleep)
    (tmp_path / "copied").write_bytes(Path(sleep).read_bytes())
    (tmp_path / "copied").chmod(0o755)
    for command, title, name in (
        (tmp_path / "dozing-server-with-a-long-name", None, "dozing-server-with-a-long-name"),
        (tmp_path / "copied", None, "copied"),
        (tmp_path / "copied", "pretender", "copied"),  # whatever it calls itself
        (tmp_path / "copied", "copied: ready on 0", "copied"),
    ):
        process = subprocess.Popen([title or str(command), "60"], executable=str(command))
        try:
            # The kernel says that a program was executed a moment before it gives the process its name.
            deadline = time.monotonic() + 10
            while launcher_requests.program_of(process.pid) != name and time.monotonic() < deadline:
                time.sleep(0.01)
            assert launcher_requests.program_of(process.pid) == name
        finally:
            process.kill()
            process.wait()
    assert launcher_requests.program_of(process.pid) == "program", "it's gone"


def test_only_a_launcher_that_holds_its_lock_counts(tmp_path: Path) -> None:
    """A process keeps the page of one that is gone for a while."""
    gone, there = tmp_path / "tare-gone/control", tmp_path / "tare-there/control"
    for control in (gone, there):
        control.parent.mkdir()
        control.write_bytes(b"TARECTL\n" + struct.pack("<II", 1, os.getpid()) + bytes(112))
    code = f"import fcntl; f = open({str(there)!r}, 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen(["python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        paths = {str(gone), str(there), f"{tmp_path}/tare-old/control (deleted)", "/lib/libc.so.6"}
        assert launcher_requests._directory(os.getpid(), paths) == str(there.parent)
        assert launcher_requests._directory(os.getpid(), paths - {str(there)}) == ""
        assert launcher_requests.launcher_of(launcher_requests.Recorded(1, str(there.parent))) == os.getpid()
        holder.kill()
    assert launcher_requests._directory(os.getpid(), paths) == ""
    with pytest.raises(TareError, match="has no launcher"):
        launcher_requests.ask(launcher_requests.Recorded(4711, ""), "pause")
