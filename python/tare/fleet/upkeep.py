"""Upkeep of a store: removing recordings, merging small files, finding damage."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.errors import IO, TareError
from tare.fleet import layout, remote
from tare.fleet.adding import data_files, write_rows
from tare.fleet.engine import one_thread
from tare.fleet.store import Store, group_of, needed_files
from tare.source.database import engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_TABLES = ("site_sums", "claims", "sites")
_LARGE = 100 << 20  # a file that isn't merged again while all its recordings are in the store
# Files that nothing names belong to an add that was killed, or to one that still runs; superseded ones to readers that
# listed them before. None of these takes an hour.
_GRACE_S = 3600


class Damage(NamedTuple):
    file: str
    reason: str
    recordings: list[str]  # paths of those whose rows it has


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    """One upkeep at a time; the kernel releases the lock of a process that was killed. Adding needs no lock."""
    if remote.is_remote(store):
        with remote.lock(store / layout.LOCK):
            yield
        return
    with open(store / layout.LOCK, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """From now on no reader sees them; their rows go with the next `compact`."""
    with _alone(path):
        for entry in entries:
            with suppress(FileNotFoundError):
                (path / layout.RECORDINGS / f"{entry['key']}.json").unlink()
        if not remote.is_remote(path):
            layout.flush(path / layout.RECORDINGS)


def expired(store: Store, *, days: float | None, builds: int | None) -> list[dict[str, Any]]:
    """Recordings that `retain` removes: started more than `days` ago, or of a build older than a program's newest `builds`."""
    found = {}
    if days is not None:
        limit = time.time_ns() - days * 86400e9
        found = {entry["key"]: entry for entry in store.all_entries if entry["started_ns"] < limit}
    if builds is not None:
        newest: dict[str, dict[str, int]] = {}
        for entry in store.all_entries:  # a build is as old as its first recording
            newest.setdefault(entry["program"], {}).setdefault(entry["build"], entry["started_ns"])
        kept = {program: sorted(starts, key=lambda b: -starts[b])[:builds] for program, starts in newest.items()}
        found |= {e["key"]: e for e in store.all_entries if e["build"] not in kept[e["program"]]}
    return list(found.values())


def compact(path: Path) -> tuple[int, int]:
    """Data files before and after."""
    with _alone(path):
        store = Store(path)
        before = sum(1 for _ in layout.data_files(path))
        groups: dict[str, list[dict[str, Any]]] = {name: [] for name in store.merged}
        for entry in store.all_entries:
            for table in ("claims", "sites"):
                groups.setdefault(group_of(table, entry["recording"]), []).append(entry)
        try:
            for name, entries in sorted(groups.items()):
                _merge(store, name, entries)
            _sweep(Store(path))
        except (OSError, engine().Error) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
            raise TareError(
                IO, f"fleet compact: can't merge files of {path}: {reason}; the store is as before"
            ) from None
        return before, sum(len(Store(path).files(table)) for table in _TABLES)


def _merge(store: Store, name: str, entries: Sequence[dict[str, Any]]) -> None:
    """Replaces a group's files by one, unless they are merged already."""
    old = store.merged.get(name, {"files": {}, "recordings": []})
    living = {entry["recording"] for entry in entries}
    known = set(old["recordings"])
    waiting = [entry for entry in entries if entry["recording"] not in known]
    gone = known - living
    if not waiting and not gone:
        return
    tables = ("sites",) if name == "sites" else ("site_sums", "claims")
    bucket = 0 if name == "sites" else int(name.removeprefix("bucket-"))
    files: dict[str, list[str]] = {}
    superseded: list[str] = []
    with one_thread("1GB") as connection:
        remote.let_read(connection, store.path)
        connection.execute("create table living (recording bigint)")
        with connection.appender("living") as appender:
            appender.append_rows([(number,) for number in sorted(living)])
        for table in tables:
            merged = old["files"].get(table, [])
            if not known & living:  # no row of the old files is needed, so they may be damaged
                superseded += merged
                merged = []
            large = [f for f in merged if not gone and (store.path / f).stat().st_size >= _LARGE and table != "sites"]
            small = [f for f in merged if f not in large] + list(dict.fromkeys(e["files"][table] for e in waiting))
            source = data_files(store.path, small)
            # Names stay when their recordings go: others of the build may need them.
            query = (
                f"select distinct on (site, build_id) * from {source} order by site, build_id, stack"  # as store.view()
                if table == "sites"
                else f"select t.* from {source} t semi join living l on l.recording = t.recording"
            )
            files[table] = large + ([write_rows(store.path, connection, table, query, bucket)] if small else [])
            superseded += [f for f in small if f not in files[table]]
        layout.write_json(store.path, f"{layout.MERGED}/{name}.json", {"files": files, "recordings": sorted(living)})
    for file in superseded:
        with suppress(FileNotFoundError):
            _touch(store.path / file)  # begins the time in which readers may still open it


def _touch(file: Path) -> None:
    if remote.is_remote(file):
        file.write_bytes(file.read_bytes())  # an object's time is that of its last write
    else:
        os.utime(file)


def _sweep(store: Store) -> None:
    """Deletes files that nothing names."""
    limit = time.time() - _GRACE_S
    named = {file for table in _TABLES for file in store.files(table)}
    parts = [] if remote.is_remote(store.path) else list((store.path / layout.PART).iterdir())
    for path in [*layout.data_files(store.path), *parts]:
        with suppress(FileNotFoundError):
            if str(path.relative_to(store.path)) not in named and remote.changed_s(path) < limit:
                path.unlink()


def verify(path: Path) -> tuple[int, list[Damage]]:
    """Reads every file that the store names; their number, and their errors."""
    layout.check(path)
    damage: list[Damage] = []
    found: dict[str, dict[str, dict[str, Any]]] = {layout.RECORDINGS: {}, layout.MERGED: {}}
    for folder, values in found.items():
        again = (
            "and add the recording again" if folder == layout.RECORDINGS else f"then run tare fleet verify {path} again"
        )
        for file in sorted((path / folder).iterdir() if (path / folder).exists() else []):
            try:
                value = layout.read_json(file)
                _ = value["files"], value["recording" if folder == layout.RECORDINGS else "recordings"]
                values[file.stem] = value
            except (TareError, KeyError):
                damage.append(Damage(str(file.relative_to(path)), f"isn't readable: delete it, {again}", []))
    entries, merged = list(found[layout.RECORDINGS].values()), found[layout.MERGED]
    paths = {entry["recording"]: entry["path"] for entry in entries}
    owners: dict[str, list[str]] = {name: [] for table in _TABLES for name in needed_files(table, entries, merged)}
    for entry in entries:
        for name in entry["files"].values():
            owners.get(name, []).append(entry["path"])
    for value in merged.values():
        for name in [name for names in value["files"].values() for name in names]:
            owners.get(name, []).extend(paths[number] for number in value["recordings"] if number in paths)
    for name, of in sorted(owners.items()):
        file = path / name
        if not file.exists():
            damage.append(Damage(name, "is missing", of))
        elif layout.file_hash(file) != file.stem:
            damage.append(Damage(name, "has other contents than were written", of))
    return len(owners), damage
