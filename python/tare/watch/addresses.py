"""Snapshots by address: FOLDER@now, @1h, @peak and @last, FOLDER/PID@..., and files PID.N.watch, wherever a verb takes a FILE."""

from __future__ import annotations

import os
import time

from tare.errors import IO, USAGE, TareError
from tare.text.durations import parse_duration
from tare.watch import reader, snapshots
from tare.watch.folder import SNAPSHOTS, Entry, Folder
from tare.watch.process import Processes
from tare.watch.reader import Facts
from tare.watch.snapshots import Limits, Snapshot
from tare.watch.store import Store

_MOST_CACHED = 20  # of FOLDER@now, in the user's cache
_FORMS = "FOLDER@now, FOLDER@last, FOLDER@peak or a time ago such as FOLDER@1h"


def resolved(text: str) -> str:
    """The file that an address stands for; any other text as it is."""
    if text.endswith(".watch") and os.path.isfile(text):
        path, name = os.path.split(text)
        return _of_file(path or ".", name)
    where, at, when = text.rpartition("@")
    if not at or not where or os.path.exists(text):
        return text
    folder, pid = place_of(where)
    return _of_address(Folder(folder), pid, when) if os.path.isdir(folder) else text


def place_of(where: str) -> tuple[str, int]:
    """The folder and the process of FOLDER or FOLDER/PID; 0: any process."""
    folder = where.rstrip("/") or "/"
    parent, last = os.path.split(folder)
    if not os.path.isdir(folder) and last.isascii() and last.isdecimal() and os.path.isdir(parent):
        return parent, int(last)
    return folder, 0


def largest_living(folder: Folder, pid: int) -> tuple[Entry, Facts] | None:
    """The file of the running process with the largest heap, or of that process."""
    processes = Processes()
    mine = [(entry, facts) for entry, facts in _running(folder) if pid in (0, facts.process_id)]
    alive = [pair for pair in mine if _is_alive(processes, pair[1])]
    return max(alive, key=lambda pair: pair[1].live_bytes, default=None)


def _of_address(folder: Folder, pid: int, when: str) -> str:
    try:
        if when == "now":
            return _now(folder, pid)
        listed = [each for each in _listed(folder) if pid in (0, each.pid)]
        if not listed:
            of = f" of process {pid}" if pid else ""
            raise TareError(IO, f"{folder.path} has no snapshot{of}: start `tare watch --serve {folder.path}`")
        if when == "last":
            found = max(listed, key=lambda each: (each.time_ms, each.live_bytes))
        elif when == "peak":
            found = max(listed, key=lambda each: (each.live_bytes, each.time_ms))
        else:
            found = _ago(folder, listed, when)
        return os.path.join(folder.path, SNAPSHOTS, found.name)
    finally:
        folder.close()


def _ago(folder: Folder, listed: list[Snapshot], when: str) -> Snapshot:
    """The nearest to that time, of the process that runs now with the largest heap; if none runs, of the last snapshot's."""
    try:
        wanted_ms = time.time() * 1000 - parse_duration(when) * 1000
    except ValueError:
        raise TareError(USAGE, f"no snapshot '@{when}': give {_FORMS}") from None
    pids = {each.pid for each in listed}
    running = [facts for _, facts in _running(folder) if facts.process_id in pids]
    image = max(running, key=lambda each: each.live_bytes).image if running else ""
    mine = [each for each in listed if each.image == image]
    if not mine:
        newest = max(listed, key=lambda each: each.time_ms)
        mine = [each for each in listed if each.image == newest.image]
    return min(mine, key=lambda each: abs(each.time_ms - wanted_ms))


def _now(folder: Folder, pid: int) -> str:
    """A new snapshot: of the running process with the largest heap, or of the last one that left its file."""
    found = [(entry, facts) for entry, facts in _running(folder, also_ended=True) if pid in (0, facts.process_id)]
    if not found:
        of = f" of process {pid}" if pid else ""
        raise TareError(IO, f"{folder.path} has no watched file{of}: FOLDER@last is the newest snapshot")
    processes = Processes()
    alive = [pair for pair in found if _is_alive(processes, pair[1])]
    if alive:
        entry, facts = max(alive, key=lambda pair: pair[1].live_bytes)
    else:
        entry, facts = max(found, key=lambda pair: pair[1].updated_ns)
    return _written(folder, entry.name, facts)


def _of_file(path: str, name: str) -> str:
    folder = Folder(path)
    try:
        with folder.opened(name) as opened:
            facts = reader.facts_of(opened, os.path.join(path, name))
        return _written(folder, name, facts)
    finally:
        folder.close()


def _written(folder: Folder, name: str, facts: Facts) -> str:
    """Beside the watcher's snapshots, which it rotates with its own; if this user may not write there, in the user's cache.

    Root doesn't write there either if the folder belongs to another user, who could lead its writes elsewhere by links.
    """
    made = snapshots.name_of(facts.program, facts.image, time.time_ns() // 1_000_000, "now", facts.live_bytes)
    shown = os.path.join(folder.path, name)
    with folder.opened(name) as opened:
        try:
            if os.geteuid() == 0 and os.fstat(folder.fd).st_uid != 0:
                raise TareError(IO, f"{folder.path} belongs to another user")
            where = os.path.join(folder.path, SNAPSHOTS)
            fd = folder.open_snapshots()
            try:
                Store(fd, where).add_once(made, lambda out: reader.write_trace(opened, out, shown))
            finally:
                os.close(fd)
        except TareError as error:
            if error.kind != IO:
                raise
            where = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tare/watch")
            os.makedirs(where, mode=0o700, exist_ok=True)
            reader.write_trace(opened, os.path.join(where, made), shown)
            _rotate(where)
    return os.path.join(where, made)


def _rotate(where: str) -> None:
    """No watcher does it in the user's cache."""
    fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        Store(fd, where).rotate(time.time_ns() // 1_000_000, Limits(snapshots=_MOST_CACHED))
    finally:
        os.close(fd)


def _listed(folder: Folder) -> list[Snapshot]:
    try:
        names = os.listdir(os.path.join(folder.path, SNAPSHOTS))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TareError(IO, f"{folder.path}/{SNAPSHOTS}: {error.strerror}") from None
    return [each for each in map(snapshots.parsed, names) if each is not None]


def _running(folder: Folder, *, also_ended: bool = False) -> list[tuple[Entry, Facts]]:
    """Files that can't be read are skipped; the watcher prints a line about each."""
    found = []
    for entry in folder.watched()[0]:
        try:
            with folder.opened(entry.name) as opened:
                facts = reader.facts_of(opened, entry.name)
        except TareError:
            continue
        if also_ended or not facts.ended:
            found.append((entry, facts))
    return found


def _is_alive(processes: Processes, facts: Facts) -> bool:
    if facts.ended:
        return False
    found = processes.find(facts.process_id, facts.process_start_ticks, facts.boot_id, was_seen=False)
    return found.state != "dead"
