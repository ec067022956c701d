"""Folders that a command makes for itself: gone however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tare.source.scratch import scratch_folder

WAITING = """
import os, signal, sys
from tare.source.scratch import scratch_folder
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1:] else signal.SIG_DFL)  # whatever these tests run under
with scratch_folder("tare-test-") as folder:
    open(os.path.join(folder, "script"), "w").close()
    print(folder, flush=True)
    sys.stdin.read()
print("went on")
"""


def waiting(tmp_path: Path, *arguments: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, *arguments],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert (folder / "script").exists()
    assert folder.parent == tmp_path
    return process, folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_as_ever_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process, folder = waiting(tmp_path)
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    assert not folder.exists()


def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    process, folder = waiting(tmp_path, "nohup")
    process.send_signal(signal.SIGHUP)
    said, _ = process.communicate("", timeout=60)
    assert (process.returncode, said) == (0, "went on\n")
    assert not folder.exists()


def test_signals_mean_afterwards_what_they_did_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ValueError, match="twelve"), scratch_folder("tare-test-") as folder:
        assert signal.getsignal(signal.SIGTERM) != before
        raise ValueError("twelve")
    assert signal.getsignal(signal.SIGTERM) == before
    assert not Path(folder).exists()
