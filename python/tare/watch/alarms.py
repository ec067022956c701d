"""Changed memory.events of control groups, as soon as the kernel counts them: they wake the watcher before the group is removed."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.watch.pressure import Groups

MOST_GROUPS = 256  # descriptors; further groups are read at intervals only
_LIMIT_APART_S = 1.0  # a group at its limit changes up to 100 times a second


class Alarms:
    """The kernel signals EPOLLPRI for memory.events of version 2, also to users who can only read the file."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._epoll = select.epoll()
        self._files: dict[str, int] = {}
        self._folders: dict[int, str] = {}
        self._inodes: dict[str, int] = {}
        self._kills: dict[str, int | None] = {}
        self._limit_s = 0.0

    def fileno(self) -> int:
        """Readable while a group has changed."""
        return self._epoll.fileno()

    def follow(self, folders: set[str]) -> None:
        """These groups, and no others any more."""
        if self._epoll.closed:
            return
        for folder in [*self._files]:
            if folder not in folders or self._groups.inode(folder) != self._inodes[folder]:
                self._forget(folder)
        for folder in sorted(folders - self._files.keys()):
            if folder and len(self._files) < MOST_GROUPS:
                self._add(folder)

    def changed(self, now_s: float) -> tuple[bool, list[str]]:
        """Whether a round is due: after a kill, and for reached limits at most once in a while. And groups with new kills."""
        is_due, killed = False, list[str]()
        for fd, _ in self._epoll.poll(0):
            folder = self._folders[fd]
            data = _reread(fd)
            if data is None:  # the group is gone: the kernel would signal it for ever
                self._forget(folder)
                is_due = True
                continue
            kills = self._groups.events(folder).oom_kills
            if kills != self._kills[folder]:
                self._kills[folder] = kills
                is_due = True
                killed.append(folder)
            elif now_s - self._limit_s >= _LIMIT_APART_S:
                self._limit_s = now_s
                is_due = True
        return is_due, killed

    def close(self) -> None:
        for folder in [*self._files]:
            self._forget(folder)
        self._epoll.close()

    def _add(self, folder: str) -> None:
        try:
            fd = os.open(self._groups.events_file(folder), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # version 1, or no such group
            return
        try:
            self._epoll.register(fd, select.EPOLLPRI)
        except OSError:  # not of a control group's file system
            os.close(fd)
            return
        self._files[folder], self._folders[fd] = fd, folder
        self._inodes[folder] = self._groups.inode(folder)
        self._kills[folder] = self._groups.events(folder).oom_kills
        _reread(fd)  # changes until now aren't signalled

    def _forget(self, folder: str) -> None:
        fd = self._files.pop(folder)
        del self._folders[fd], self._inodes[folder], self._kills[folder]
        with suppress(OSError):
            self._epoll.unregister(fd)
        os.close(fd)


def _reread(fd: int) -> bytes | None:
    """From its begin, by which the kernel takes the change for seen. None: the group is gone."""
    try:
        return os.pread(fd, 4096, 0)
    except OSError:
        return None
