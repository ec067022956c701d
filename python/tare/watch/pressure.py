"""Memory of control groups: pressure, events at their limits, and counters of out-of-memory kills (cgroup v1 and v2)."""

from __future__ import annotations

import os
from typing import NamedTuple

_MOST_PARENTS = 16


class Mount(NamedTuple):
    folder: str
    root: str  # the group that is mounted there
    version: int


class Events(NamedTuple):
    """Of one group; None: the kernel has no such counter."""

    oom_kills: int | None
    at_limit: int | None  # v2: memory.events high and max; v1: memory.failcnt


class Groups:
    def __init__(self, root: str = "/", given: str = "") -> None:
        """`given`: the control group's folder, where /proc doesn't lead to it (--cgroup)."""
        self._root = root.rstrip("/")
        self._given = given
        self._mounts = self._read_mounts()

    def of_process(self, pid: int) -> str:
        """The folder of the group that limits its memory; empty: not visible from here."""
        if self._given:
            return self._given
        paths = {}
        for line in _lines(f"{self._root}/proc/{pid}/cgroup"):
            _, controllers, path = line.split(":", 2) if line.count(":") > 1 else ("", "-", "")
            if "memory" in controllers.split(","):
                paths[1] = path
            elif not controllers:
                paths[2] = path
        for version in (1, 2):  # a hybrid system limits memory by v1
            for mount in self._mounts:
                if mount.version == version and version in paths:
                    folder = _joined(mount, paths[version])
                    if folder and os.path.isdir(self._root + folder):
                        return folder
        return ""

    def parents(self, folder: str) -> list[str]:
        """The group and, in v2, those above it: only v2 counts kills in groups below. The group may be gone."""
        tops = {mount.folder for mount in self._mounts if mount.version == 2}
        if not any(_is_below(folder, top) for top in tops):
            return [folder]
        chain = [folder]
        while folder not in tops and folder != self._given and folder.count("/") > 1 and len(chain) < _MOST_PARENTS:
            folder = folder.rpartition("/")[0]
            chain.append(folder)
        return chain

    def events(self, folder: str) -> Events:
        """Of v2, kills in groups below count too; of v1, only those in the group itself."""
        path = self._root + folder
        found = dict(_pairs(_lines(self.events_file(folder))))
        if found:
            return Events(found.get("oom_kill"), found.get("high", 0) + found.get("max", 0))
        control = dict(_pairs(_lines(f"{path}/memory.oom_control")))
        failures = _number(f"{path}/memory.failcnt")
        return Events(control.get("oom_kill"), failures)

    def events_file(self, folder: str) -> str:
        return f"{self._root}{folder}/memory.events"

    def inode(self, folder: str) -> int:
        """0: the group is gone."""
        try:
            return os.stat(self._root + folder).st_ino
        except OSError:
            return 0

    def limit_bytes(self, folder: str) -> int | None:
        for name in ("memory.max", "memory.limit_in_bytes"):
            if (limit := _number(f"{self._root}{folder}/{name}")) is not None:
                return limit if limit < 1 << 60 else None
        return None

    def system_kills(self) -> int | None:
        """Of the whole machine since its start."""
        return dict(_pairs(_lines(f"{self._root}/proc/vmstat"))).get("oom_kill")

    def pressure(self, folder: str) -> float | None:
        """Percent of the last 10 s in which some thread waited for memory; of the machine if the group has no such file."""
        for path in (f"{folder}/memory.pressure", "/proc/pressure/memory"):
            for line in _lines(self._root + path):
                kind, *fields = line.split()
                for field in fields:
                    name, _, value = field.partition("=")
                    if kind == "some" and name == "avg10":
                        try:
                            return float(value)
                        except ValueError:
                            return None
        return None

    def _read_mounts(self) -> list[Mount]:
        mounts = []
        for line in _lines(f"{self._root}/proc/self/mountinfo"):
            before, separator, after = line.partition(" - ")
            fields, kinds = before.split(), after.split()
            if not separator or len(fields) < 5 or len(kinds) < 3:
                continue
            root, folder = _unescaped(fields[3]), _unescaped(fields[4])
            if kinds[0] == "cgroup2":
                mounts.append(Mount(folder, root, 2))
            elif kinds[0] == "cgroup" and "memory" in kinds[-1].split(","):
                mounts.append(Mount(folder, root, 1))
        return mounts


def _is_below(folder: str, top: str) -> bool:
    return folder == top or folder.startswith(f"{top.rstrip('/')}/")


def _joined(mount: Mount, path: str) -> str:
    """The folder of a group; `/../x` is a sibling in another namespace, which isn't mounted here."""
    if path.startswith("/.."):
        return ""
    if mount.root != "/" and (path == mount.root or path.startswith(f"{mount.root}/")):
        path = path[len(mount.root) :]
    return (mount.folder + path).rstrip("/")


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20).splitlines()
    except OSError:
        return []


def _pairs(lines: list[str]) -> list[tuple[str, int]]:
    words = [line.split() for line in lines]
    return [(each[0], int(each[1])) for each in words if len(each) == 2 and each[1].isdecimal()]


def _number(path: str) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _unescaped(text: str) -> str:
    for escaped, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(escaped, character)
    return text
