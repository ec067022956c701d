"""The files of a store: their places, and the steps by which one appears whole or not at all.

    store.json                        marks the folder as a store; has the version of its schema
    recordings/KEY.json               one a recording; KEY is a hash of the trace. The recording is in the store while this file exists
    merged/GROUP.json                 files that `compact` made of many, and the recordings whose rows these have
    table=NAME/bucket=00..63/*.parquet  rows; a file is named by the hash of its contents
    part/                             files that are being written

A file is written in part/, flushed, and renamed. In an object store (remote.py), an object appears whole. A reader opens only files that a JSON file names, so that a half-written add is
never seen. Data files never change.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tare.errors import CORRUPT, IO, USAGE, TareError
from tare.fleet import remote

if TYPE_CHECKING:
    from collections.abc import Iterator

# A new column is nullable and raises nothing: readers join files by column name. A changed meaning raises the version,
# and a reader rejects a store with a higher version than its own.
SCHEMA_VERSION = 1
BUCKETS = 64
RECORDINGS, MERGED, PART, MARK, LOCK = "recordings", "merged", "part", "store.json", "upkeep.lock"


def create(store: Path) -> None:
    """Makes the folder a store, unless it is one."""
    if remote.is_remote(store):
        with remote.reached(store):
            if (store / MARK).exists():
                check(store)
            elif store.exists() and any(True for _ in store.iterdir()):
                raise TareError(USAGE, f"fleet: {store} isn't a store: give an empty or a new folder")
            else:
                write_json(store, MARK, {"format": "tare fleet", "schema": SCHEMA_VERSION}, once=True)
        return
    try:
        # Listed before the mark is looked for: rows that another process adds meanwhile come after its mark.
        names = {each.name for each in store.iterdir()} if store.exists() else set()
        if (store / MARK).exists():
            check(store)
            return
        if names - {RECORDINGS, MERGED, PART}:
            raise TareError(USAGE, f"fleet: {store} isn't a store: give an empty or a new folder")
        for name in (RECORDINGS, MERGED, PART):
            (store / name).mkdir(parents=True, exist_ok=True)
        write_json(store, MARK, {"format": "tare fleet", "schema": SCHEMA_VERSION})
    except OSError as error:
        raise TareError(IO, f"fleet: can't make a store in {store}: {error.strerror}") from None


def check(store: Path) -> None:
    with remote.reached(store):
        is_store = (store / MARK).exists()
    if not is_store:
        raise TareError(USAGE, f"fleet: {store} isn't a store: make one by tare fleet add {store} RECORDING")
    version = read_json(store / MARK).get("schema")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise TareError(
            USAGE, f"fleet: {store} has schema {version}, this version of Tare reads {SCHEMA_VERSION}: update Tare"
        )


def read_json(path: Path, contents: bytes | None = None) -> dict[str, Any]:
    """`contents`: of the file, if they have been read already."""
    try:
        value: dict[str, Any] = json.loads(path.read_bytes() if contents is None else contents)
    except ValueError:
        raise TareError(CORRUPT, f"fleet: {path} is damaged: run tare fleet verify on the store") from None
    return value


def read_all(folder: Path) -> dict[Path, dict[str, Any]]:
    """JSON files, without those that are removed meanwhile."""
    if remote.is_remote(folder):
        with remote.reached(folder):
            found = remote.contents_of(folder)
        return {folder / name: read_json(folder / name, contents) for name, contents in found.items()}
    values = {}
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            values[file] = read_json(file)
    return values


def data_files(store: Path) -> Iterator[Path]:
    """All of them, also those that nothing names."""
    return store.glob("table=*/bucket=*/*.parquet")


@contextmanager
def part_file(store: Path) -> Iterator[Path]:
    """A name for a file being written; the rest of an interrupted write is deleted."""
    if remote.is_remote(store):
        with TemporaryDirectory(prefix="tare-fleet-") as folder:
            yield Path(folder, "part")
        return
    (store / PART).mkdir(exist_ok=True)
    path = store / PART / f"{os.getpid()}-{secrets.token_hex(8)}"
    try:
        yield path
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


def write_json(store: Path, name: str, value: dict[str, Any], *, once: bool = False) -> bool:
    """Under its name when it is on disk. `once`: False, and nothing changed, if the name exists already."""
    target = store / name
    if remote.is_remote(store):
        return remote.put(target, _text_of(value).encode(), once=once)
    with part_file(store) as part:
        part.write_text(_text_of(value), encoding="utf-8")
        flush(part)
        if once:
            try:
                os.link(part, target)
            except FileExistsError:
                return False
        else:
            os.rename(part, target)
        flush(target.parent)
    return True


def place(store: Path, part: Path, table: str, bucket: int) -> str:
    """Moves a finished file to its name in the store, and returns that name."""
    if remote.is_remote(store):
        name = f"table={table}/bucket={bucket:02}/{file_hash(part)}.parquet"
        remote.upload(part, store / name)
        return name
    folder = store / f"table={table}" / f"bucket={bucket:02}"
    folder.mkdir(parents=True, exist_ok=True)
    flush(part)
    target = folder / f"{file_hash(part)}.parquet"
    os.rename(part, target)
    flush(folder)
    return str(target.relative_to(store))


def _text_of(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def flush(path: Path) -> None:
    """To the disk: a file's data, or a folder's names."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
