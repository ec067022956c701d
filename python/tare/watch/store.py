"""The folder of snapshots on disk: written under a temporary name, then renamed; deleted with the files made from them."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from typing import TYPE_CHECKING

from tare.errors import IO, TareError
from tare.watch import snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.watch.snapshots import Limits, Snapshot

TEMPORARY = ".new-"  # .new-PID-NUMBER
_STALE_S = 3600  # a temporary file of a process in another container
_MOST_DELETED = 16  # on a full disk, for one snapshot
_RESERVE = 16 << 20  # bytes of the file system that snapshots leave free
_RESERVE_PART = 20  # or that part of a small one
NOTE = ".note"


class Store:
    """Others may read the folder at any time; only this process and `FOLDER@now` write into it."""

    def __init__(self, fd: int, shown: str) -> None:
        self.fd = fd
        self.shown = shown
        self._written = 0

    def clean(self) -> None:
        """Deletes temporary files of killed writers, and files that were made from deleted snapshots."""
        names = os.listdir(self.fd)
        known = {name for name in names if snapshots.parsed(name)}
        for name in names:
            if name.startswith(TEMPORARY):
                if self._is_stale(name):
                    self._remove(name)
            elif name not in known and _base_of(name) not in known and snapshots.parsed(_base_of(name)):
                self._remove(name)

    def listed(self) -> list[Snapshot]:
        """Sizes include the files beside a snapshot."""
        sizes: dict[str, int] = {}
        found: list[str] = []
        with os.scandir(self.fd) as listing:
            for each in listing:
                try:
                    status = each.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    size = status.st_blocks * 512
                    if snapshots.parsed(each.name):
                        found.append(each.name)
                elif stat.S_ISDIR(status.st_mode):
                    size = _bytes_in(os.path.join(f"/proc/self/fd/{self.fd}", each.name))
                else:
                    continue
                base = _base_of(each.name)
                sizes[base] = sizes.get(base, 0) + size
        made = (snapshots.parsed(name, sizes[name]) for name in sorted(found))
        return [each for each in made if each is not None]

    def add(self, name: str, write: Callable[[str], None], note: bytes | None, now_ms: int) -> int:
        """`write` fills the path that it is given. Returns how many old snapshots a full disk cost."""
        for deleted in range(_MOST_DELETED + 1):
            try:
                self._add(name, write, note)
                return deleted
            except TareError as error:
                if not self.is_full(error):
                    raise
                first = snapshots.oldest(self.listed(), now_ms)
                if first is None or deleted == _MOST_DELETED:
                    raise TareError(
                        IO, f"{self.shown}: {os.strerror(errno.ENOSPC)}, even without the oldest snapshots: free some"
                    ) from error
                self.delete({first.name})
        raise AssertionError

    def add_once(self, name: str, write: Callable[[str], None]) -> None:
        """Without a note, and without deletions on a full disk."""
        self._add(name, write, None)

    def _add(self, name: str, write: Callable[[str], None], note: bytes | None) -> None:
        self._written += 1
        temporary = f"{TEMPORARY}{os.getpid()}-{self._written}"
        if not self._has_room():
            raise TareError(IO, f"{self.shown}: {os.strerror(errno.ENOSPC)}")
        try:
            write(f"/proc/self/fd/{self.fd}/{temporary}")
            if note is not None:  # before the snapshot: a snapshot that is there has its note
                self.write_file(f"{name}{NOTE}", note)
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except BaseException as error:
            self._remove(temporary)
            self._remove(f"{name}{NOTE}")
            if isinstance(error, OSError):
                raise TareError(IO, f"{self.shown}/{name}: {error.strerror}") from error
            raise

    def write_file(self, name: str, data: bytes) -> None:
        """Complete or not at all."""
        self._written += 1
        temporary = f"{TEMPORARY}{os.getpid()}-{self._written}"
        try:
            fd = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.fd
            )
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except OSError:
            self._remove(temporary)
            raise

    def read_file(self, name: str, most_bytes: int) -> bytes | None:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.fd)
            with os.fdopen(fd, "rb") as file:
                return file.read(most_bytes) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        except OSError:
            return None

    def delete(self, names: set[str]) -> None:
        """With their notes, the children's traces of an exact recording, and caches."""
        for each in os.listdir(self.fd) if names else []:
            if _base_of(each) in names:
                self._remove(each)

    def rotate(self, now_ms: int, limits: Limits) -> list[Snapshot]:
        """What remains."""
        listed = self.listed()
        gone = {each.name for each in snapshots.surplus(listed, now_ms, limits)}
        self.delete(gone)
        return [each for each in listed if each.name not in gone]

    def _has_room(self) -> bool:
        """Recorders stop for good if their files can't grow, so that snapshots leave them room."""
        system = os.statvfs(self.fd)
        return system.f_bavail * system.f_frsize >= min(_RESERVE, system.f_blocks * system.f_frsize // _RESERVE_PART)

    def is_full(self, error: TareError) -> bool:
        return any(os.strerror(number) in error.message for number in (errno.ENOSPC, errno.EDQUOT))

    def _is_stale(self, name: str) -> bool:
        import time

        pid = name.removeprefix(TEMPORARY).partition("-")[0]
        try:
            age_s = time.time() - os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mtime
        except OSError:
            return False
        return age_s > _STALE_S or pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}")

    def _remove(self, name: str) -> None:
        try:
            if stat.S_ISDIR(os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mode):
                shutil.rmtree(f"/proc/self/fd/{self.fd}/{name}", ignore_errors=True)
            else:
                os.unlink(name, dir_fd=self.fd)
        except OSError:
            pass


def _base_of(name: str) -> str:
    """`a.tare` of `a.tare`, `a.tare.note`, `a.tare.4711` and `.a.tare.cache`."""
    stem = name.removeprefix(".")
    at = stem.find(".tare")
    return stem[: at + len(".tare")] if at > 0 else name


def _bytes_in(path: str) -> int:
    try:
        with os.scandir(path) as listing:
            return sum(each.stat(follow_symlinks=False).st_blocks * 512 for each in listing)
    except OSError:
        return 0
