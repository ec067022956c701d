"""Whether a watched file's process is alive, also where another PID namespace hides it."""

from __future__ import annotations

import os
from typing import NamedTuple

_INITIAL_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO: it contains every process
_PF_EXITING = 4  # of the flags in /proc/PID/stat
_SIGKILL = 1 << 8  # of a set of signals
_DEAD_STATES = ("Z", "X", "x")


class Found(NamedTuple):
    """`state`: alive, dead, or hidden: /proc has no such process, but may not have all."""

    state: str
    visible_pid: int = 0  # its number here; 0: not visible


class Processes:
    """/proc, read at most once a round for all files."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._others: dict[tuple[int, int], int] | None = None
        self.boot_id = _first_line(f"{proc}/sys/kernel/random/boot_id")
        self.namespace = _inode(f"{proc}/self/ns/pid")

    def refresh(self) -> None:
        self._others = None

    def find(self, pid: int, start_ticks: int, boot_id: str, *, was_seen: bool) -> Found:
        """`was_seen`: it was visible from this PID namespace earlier, so its absence means its end.

        AppArmor may keep the recorder from reading its start and the boot: 0 and empty. Any process of that number is it then,
        because to keep the file of a dead process is better than to delete that of a living one.
        """
        if boot_id and boot_id != self.boot_id:
            return Found("dead")
        state, ticks = self._stat(pid)
        if ticks == start_ticks or (ticks >= 0 and not start_ticks):
            return Found("dead") if state in _DEAD_STATES else Found("alive", pid)
        others = self._elsewhere()
        if here := others.get((pid, start_ticks)) or (
            0 if start_ticks else next((outer for (inner, _), outer in others.items() if inner == pid), 0)
        ):
            return Found("alive", here)
        return Found("dead" if was_seen or self.namespace == _INITIAL_NAMESPACE else "hidden")

    def rss_bytes(self, visible_pid: int) -> int | None:
        words = _first_line(f"{self._proc}/{visible_pid}/statm").split()
        return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if len(words) > 1 and words[1].isdecimal() else None

    def is_dying(self, visible_pid: int) -> bool:
        """Killed, but not gone yet: freeing much memory takes a while."""
        words = _first_line(f"{self._proc}/{visible_pid}/stat").rpartition(")")[2].split()
        if len(words) < 20 or words[0] in _DEAD_STATES or int(words[6]) & _PF_EXITING:
            return True
        return any(int(pending, 16) & _SIGKILL for pending in self._status(str(visible_pid), ("SigPnd:", "ShdPnd:")))

    def _elsewhere(self) -> dict[tuple[int, int], int]:
        """Processes of inner PID namespaces: their number there and their start, with their number here."""
        if self._others is None:
            self._others = {}
            for name in os.listdir(self._proc):
                if not name.isdecimal() or (inner := self._inner_pid(name)) == int(name):
                    continue
                state, ticks = self._stat(int(name))
                if state not in _DEAD_STATES:
                    self._others[inner, ticks] = int(name)
        return self._others

    def _inner_pid(self, name: str) -> int:
        """The last number of the line NSpid."""
        for last in self._status(name, ("NSpid:",)):
            return int(last)
        return int(name)

    def _status(self, name: str, fields: tuple[str, ...]) -> list[str]:
        """The last word of each of these lines."""
        try:
            with open(f"{self._proc}/{name}/status", encoding="utf-8", errors="replace") as file:
                return [line.split()[-1] for line in file if line.startswith(fields)]
        except OSError:
            return []

    def _stat(self, pid: int) -> tuple[str, int]:
        """State and start in clock ticks since boot; the program's name before them may contain any character."""
        words = _first_line(f"{self._proc}/{pid}/stat").rpartition(")")[2].split()
        if len(words) < 20 or not words[19].isdecimal():
            return "", -1
        lives_on = words[0] == "Z" and words[17].isdecimal() and int(words[17]) > 1  # only its first thread has ended
        return "S" if lives_on else words[0], int(words[19])


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n")
    except OSError:
        return ""


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0
