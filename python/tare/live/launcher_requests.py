"""Finds the recording of a running process, and sends requests to its launcher (`tare run` answers).

The protocol is in src/core/launcher/request_desk.h: a symbolic link in the recording's private directory is a request,
another the answer.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import signal
import struct
import time
from typing import NamedTuple

from tare.errors import CANNOT_RECORD, TareError

_CONTROL = "control"
_MAGIC = b"TARECTL\n"
_LAUNCHER_PID_AT = 12  # trace::LauncherControl
_REQUESTED_AT = 64 + 6 * 4
_LOOKS = 5  # for the recorder in a process
_LONGEST_WAIT_S = 60.0  # a snapshot of a large heap, at about 2 GB/s


_OVER = "the recording is over"  # said by a launcher that still completes its trace


class RecordingOverError(TareError):
    """The program has ended, and its launcher hasn't yet."""


class Recorded(NamedTuple):
    """A process with the recorder in it; `directory` is its launcher's, empty where it has none that lives."""

    pid: int
    directory: str


def find(pid: int) -> Recorded:
    """CannotRecord if there is no such process, it may not be read, or the recorder isn't in it."""
    for _ in range(_LOOKS):
        paths = _mapped_files(pid)
        if any("/libtare-record.so" in path for path in paths):
            return Recorded(pid, _directory(pid, paths))
        time.sleep(0.02)  # a program that was just started is still in its loader
    raise TareError(
        CANNOT_RECORD,
        f"process {pid} has no recorder: start it with `tare run` (--start-paused: record later)",
    )


def find_any(pid: int) -> Recorded:
    """The same of a process that may have no recorder: `tare attach` loads it."""
    return Recorded(pid, _directory(pid, _mapped_files(pid)))


def program_of(pid: int) -> str:
    """Its names: `redis-server`, also if that is a link to another file, and with any title that it gave itself."""
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)"))
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="surrogateescape") as file:
            started_as = file.read().rstrip("\n")
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="surrogateescape") as file:
            words = file.read().split("\0", 1)[0].split(" ", 1)
    except OSError:
        return "program"
    # The kernel cuts names off behind 15 bytes; threads and interpreters give themselves others.
    called = os.path.basename(words[0]).rstrip(":").lstrip("-")
    return (
        called
        if called and called.encode(errors="surrogateescape")[:15].decode(errors="ignore") == started_as
        else program
    )


def find_launched(pid: int) -> tuple[Recorded, str]:
    """A recorded process, or a launcher; and the process whose figures are shown: of a launcher's, the one with most events."""
    paths = _mapped_files(pid)
    directory = _directory(pid, paths)
    if directory and not any("/libtare-record.so" in path for path in paths):
        return Recorded(pid, directory), "largest"
    return find(pid), str(pid)


def is_over(pid: int) -> bool:
    """Gone, or only waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().rpartition(") ")[2][:1] in ("Z", "X")
    except OSError:
        return True


def _directory(pid: int, paths: set[str]) -> str:
    """Of launchers that are gone there may be several: a process keeps their page for a while."""
    from tare import _core

    for path in paths:
        folder, name = os.path.split(path)
        if name != _CONTROL or "/tare-" not in folder:
            continue
        root = _core.other_root(pid)
        if not _is_over(root + path):
            return root + folder
    return ""


def _is_over(control: str) -> bool:
    """Its launcher is gone. A process without permission to check it counts as living."""
    try:
        with open(control, "rb") as file:
            return not _is_held(file.fileno())
    except FileNotFoundError:
        return True
    except OSError:
        return False


def launcher_of(recorded: Recorded) -> int:
    """Its process number; 0 where there's none."""
    try:
        with open(os.path.join(recorded.directory, _CONTROL), "rb") as file:
            head = file.read(_LAUNCHER_PID_AT + 4)
    except OSError:
        return 0
    return int(struct.unpack_from("<I", head, _LAUNCHER_PID_AT)[0]) if head.startswith(_MAGIC) else 0


def _mapped_files(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            return {line.rstrip("\n").split(maxsplit=5)[5] for line in file if line.count(" ") >= 5 and "/" in line}
    except FileNotFoundError:
        raise TareError(CANNOT_RECORD, f"no process {pid}") from None
    except ProcessLookupError:
        raise TareError(CANNOT_RECORD, f"process {pid} has ended") from None
    except PermissionError:
        owner = _owner(pid)
        raise TareError(CANNOT_RECORD, f"process {pid} belongs to {owner}: run as that user or as root") from None


def _owner(pid: int) -> str:
    import pwd

    uid = os.stat(f"/proc/{pid}").st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def ask(recorded: Recorded, verb: str, whom: str = "", name: str = "") -> str:
    """The launcher's words; CannotRecord with its reason where it refuses, or where there's none."""
    if not recorded.directory:
        raise TareError(
            CANNOT_RECORD, f"process {recorded.pid} has no launcher: `tare attach {recorded.pid}` starts one"
        )
    control = os.path.join(recorded.directory, _CONTROL)
    stem = os.path.join(recorded.directory, f"{os.getpid()}.{time.monotonic_ns()}")
    try:
        with open(control, "r+b") as file, mmap.mmap(file.fileno(), 0) as page:
            if page[: len(_MAGIC)] != _MAGIC:
                raise TareError(CANNOT_RECORD, f"{control} isn't a launcher's control file")
            if not _is_held(file.fileno()):
                raise TareError(
                    CANNOT_RECORD,
                    f"the launcher of process {recorded.pid} has ended: start a new recording by `tare attach`",
                )
            os.symlink(f"{verb} {whom or recorded.pid} {name}".rstrip(), stem + ".request")
            page[_REQUESTED_AT : _REQUESTED_AT + 4] = struct.pack("<I", 1)
            (launcher,) = struct.unpack_from("<I", page, _LAUNCHER_PID_AT)
            _wake(launcher)
            return _answer(stem, file.fileno())
    except PermissionError:
        raise TareError(
            CANNOT_RECORD,
            f"the recording of process {recorded.pid} belongs to another user: run as that user or as root",
        ) from None
    except FileNotFoundError:
        raise TareError(CANNOT_RECORD, f"the recording of process {recorded.pid} has ended") from None


def _is_held(control: int) -> bool:
    """A launcher holds a lock on its control file while it lives."""
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind: int = struct.unpack("hhqqi4x", fcntl.fcntl(control, fcntl.F_GETLK, lock))[0]
    return kind != fcntl.F_UNLCK


def _wake(launcher: int) -> None:
    """SIGCHLD wakes a launcher; without it, the launcher checks by itself within a second."""
    try:
        os.kill(launcher, signal.SIGCHLD)
    except OSError:
        return


def _answer(stem: str, control: int) -> str:
    begin = time.monotonic()
    pause_s = 0.001
    while True:
        try:
            text = os.readlink(stem + ".answer")
        except FileNotFoundError:
            waited = time.monotonic() - begin
            if waited > _LONGEST_WAIT_S or not _is_held(control):
                _take_back(stem)
                raise TareError(CANNOT_RECORD, "no answer from the launcher: it has ended or is stopped") from None
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.05)
            continue
        os.unlink(stem + ".answer")
        verdict, _, rest = text.partition(" ")
        if verdict != "ok":
            raise (RecordingOverError if rest == _OVER else TareError)(CANNOT_RECORD, rest)
        return rest


def _take_back(stem: str) -> None:
    try:
        os.unlink(stem + ".request")
    except OSError:
        return


def pid_of(text: str, verb: str) -> int:
    from tare.errors import USAGE

    if not text.isdigit() or int(text) == 0:
        raise TareError(USAGE, f"{verb}: needs a process number: '{text}'")
    return int(text)
