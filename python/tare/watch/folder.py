"""The shared folder of watched files: others may write into it, so nothing in it is followed or trusted."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from tare.errors import CANNOT_RECORD, IO, TareError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES = 4096  # of a folder; more aren't read
SNAPSHOTS = "snapshots"
_MOST_BYTES = 16 << 20  # a watched file has at most 4 MiB
_LOCK = ".watcher"
_NAME = re.compile(r"[1-9][0-9]{0,9}\.[0-9]{1,10}\.watch", re.ASCII)
_UNFINISHED = re.compile(r"\.[1-9][0-9]{0,9}\.[0-9]{1,20}\.tmp", re.ASCII)
_UNFINISHED_S = 3600  # a recorder needs milliseconds
_FOR_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Entry(NamedTuple):
    name: str
    inode: int
    size_bytes: int
    modified_ns: int


class Folder:
    """Opened once: a folder that replaces it under the same name isn't used."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = -1
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise TareError(IO, f"{path}: {error.strerror}") from None
        owner = os.fstat(self.fd).st_uid
        user = os.geteuid()
        if user not in (0, owner) and owner != 0:
            os.close(self.fd)
            raise TareError(CANNOT_RECORD, f"{path} belongs to another user: watch it as user {owner} or as root")
        self._trusted = {owner, user, 0}

    def close(self) -> None:
        for fd in (self._lock, self.fd):
            if fd >= 0:
                os.close(fd)
        self._lock = self.fd = -1

    def lock(self) -> int:
        """Until the end of this process. Returns the process that has the lock, or 0: this one."""
        try:
            self._lock = os.open(
                _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=self.fd
            )
            if not self._is_trusted(os.fstat(self._lock)):
                raise TareError(CANNOT_RECORD, f"{self.path}/{_LOCK} isn't a file of its folder's owner: delete it")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 20, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            self._lock = -1
            return int(holder) if holder.isascii() and holder.isdecimal() else -1
        except OSError as error:
            raise TareError(IO, f"{self.path}/{_LOCK}: {error.strerror}") from None
        try:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        except OSError:  # a full disk: the number is only for messages
            pass
        return 0

    def watched(self) -> tuple[list[Entry], bool]:
        """Watched files by name, and whether there are more than MOST_FILES."""
        entries: list[Entry] = []
        with os.scandir(self.fd) as listing:
            for each in listing:
                if not _NAME.fullmatch(each.name):
                    continue
                try:
                    status = each.stat(follow_symlinks=False)
                except OSError:
                    continue
                if not self._is_trusted(status) or status.st_size > _MOST_BYTES:
                    continue
                if len(entries) == MOST_FILES:
                    return sorted(entries), True
                entries.append(Entry(each.name, status.st_ino, status.st_size, status.st_mtime_ns))
        return sorted(entries), False

    @contextmanager
    def opened(self, name: str) -> Iterator[str]:
        """The path of a descriptor: no other file can take its place."""
        try:
            fd = os.open(name, _FOR_READING, dir_fd=self.fd)
        except OSError as error:
            raise TareError(IO, f"{self.path}/{name}: {error.strerror}") from error
        try:
            if not self._is_trusted(os.fstat(fd)):
                raise TareError(IO, f"{self.path}/{name} isn't a file of its folder's owner")
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)

    def delete(self, entry: Entry) -> None:
        """Only the file that the entry was made of."""
        try:
            if os.stat(entry.name, dir_fd=self.fd, follow_symlinks=False).st_ino == entry.inode:
                os.unlink(entry.name, dir_fd=self.fd)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise TareError(IO, f"{self.path}/{entry.name}: {error.strerror}") from None

    def clean(self, now_s: float) -> None:
        """Deletes files that recorders were killed in the middle of making."""
        with os.scandir(self.fd) as listing:
            names = [each.name for each in listing if _UNFINISHED.fullmatch(each.name)]
        for name in names[:MOST_FILES]:
            with suppress(OSError):
                status = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
                if self._is_trusted(status) and now_s - status.st_mtime > _UNFINISHED_S:
                    os.unlink(name, dir_fd=self.fd)

    def open_snapshots(self) -> int:
        """A descriptor of the folder of snapshots, which is made if there is none."""
        shown = f"{self.path}/{SNAPSHOTS}"
        try:
            with suppress(FileExistsError):
                os.mkdir(SNAPSHOTS, 0o700, dir_fd=self.fd)
            fd = os.open(SNAPSHOTS, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
        except OSError as error:
            raise TareError(IO, f"{shown}: {error.strerror}") from None
        if os.fstat(fd).st_uid not in self._trusted:
            os.close(fd)
            raise TareError(IO, f"{shown} belongs to another user: delete it")
        return fd

    def _is_trusted(self, status: os.stat_result) -> bool:
        return stat.S_ISREG(status.st_mode) and status.st_uid in self._trusted
