"""A program started with the recorder watching: `tare watch -- CMD`."""

from __future__ import annotations

import os
import signal
import subprocess

from tare.errors import CANNOT_RECORD, COMMAND_NOT_FOUND, IO, TareError


def default_folder(command: str) -> str:
    name = os.path.basename(command) or "program"
    if os.geteuid() == 0:
        return f"/var/lib/tare/{name}"
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "tare/watch", name)


def make_folder(path: str) -> str:
    """Its absolute path."""
    path = os.path.abspath(path)
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}: give another folder by --dir") from None
    return path


def environment(folder: str, library: str, sample_bytes: int, budget: str = "") -> dict[str, str]:
    preload = os.environ.get("LD_PRELOAD", "")
    return {
        **os.environ,
        "LD_PRELOAD": f"{library}:{preload}" if preload else library,
        "TARE_WATCH": folder,
        "TARE_SAMPLE": str(sample_bytes),
        **({"TARE_BUDGET": budget} if budget else {}),
    }


def start(command: list[str], variables: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, env=variables, restore_signals=True, close_fds=False)
    except FileNotFoundError:
        raise TareError(COMMAND_NOT_FOUND, f"{command[0]}: command not found") from None
    except OSError as error:
        raise TareError(CANNOT_RECORD, f"{command[0]}: {error.strerror}") from None


def wait_status(code: int) -> int:
    """As waitpid reports it, of subprocess' return code."""
    return -code if code < 0 else code << 8


def signal_of(code: int) -> int:
    return -code if code < 0 else 0


def ignore_interrupt() -> None:
    """Ctrl-C is for the program: the watcher waits for its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
