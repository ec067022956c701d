"""Stores in object stores, such as s3://bucket/fleet: paths of fsspec in place of a folder's. An object appears whole or not at all."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tare.errors import IO, USAGE, TareError

if TYPE_CHECKING:
    from collections.abc import Iterator

# An upkeep of a large store takes minutes; a lock that is this old is of one that was killed.
_LONGEST_LOCK_S = 3600


def location(text: str) -> Path:
    """A folder's path; of `PROTOCOL://...` a path of fsspec, which has the methods of a Path."""
    if "://" not in text:
        return Path(text)
    try:
        from upath import UPath

        # Other processes add and remove files, so that no listing may be kept.
        return cast("Path", UPath(text, use_listings_cache=False, skip_instance_cache=True))
    except ImportError:
        raise TareError(USAGE, f"fleet: {text} needs packages: pip install 'heaptare[objects]'") from None
    except ValueError as error:
        raise TareError(USAGE, f"fleet: {text}: {error}") from None


def is_remote(path: Path) -> bool:
    return not isinstance(path, Path)


@contextmanager
def reached(store: Path) -> Iterator[None]:
    """Turns errors of the object store's library into one line."""
    if not is_remote(store):
        yield
        return
    try:
        yield
    except TareError:
        raise
    except ImportError as error:
        missing = str(error).splitlines()[0]
        raise TareError(USAGE, f"fleet: {store}: {missing}: pip install 'heaptare[objects]' has s3fs") from None
    except Exception as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise TareError(
            IO, f"fleet: can't use {store}: {lines[0]}; check its address, the credentials and the network"
        ) from None


def put(target: Path, contents: bytes, *, once: bool) -> bool:
    """`once`: False, and nothing changed, if the object exists already. Where a service can't refuse it, the later one of two simultaneous
    writers stays: both are of the same recording, and each is whole."""
    if once and target.exists():
        return False
    try:
        system(target).pipe_file(key(target), contents, mode="create" if once else "overwrite")
    except FileExistsError:
        return False
    return True


def upload(part: Path, target: Path) -> None:
    system(target).put_file(str(part), key(target))


def let_read(connection: Any, store: Path) -> None:
    """Makes DuckDB read the store's files through fsspec, if they are objects."""
    if is_remote(store):
        connection.register_filesystem(system(store))


def changed_s(path: Path) -> float:
    """When a file or an object was written last; now, where the service doesn't know."""
    if not is_remote(path):
        return path.stat().st_mtime
    try:
        return float(system(path).modified(key(path)).timestamp())
    except NotImplementedError:
        return time.time()


def contents_of(folder: Path) -> dict[str, bytes]:
    """Of the objects in a folder, by name. They are read together: one by one, 10,000 recordings would be 10,000 round trips."""
    try:
        names = [str(each["name"]) for each in system(folder).ls(key(folder), detail=True) if each["type"] == "file"]
    except FileNotFoundError:
        return {}
    found: dict[str, bytes] = system(folder).cat(names, on_error="omit") if names else {}
    return {name.rpartition("/")[2]: contents for name, contents in found.items()}


@contextmanager
def lock(target: Path) -> Iterator[None]:
    """An object that exists as long as its holder works."""
    holder = {"host": os.uname().nodename, "process": os.getpid(), "since": time.time()}
    with reached(target.parent):
        if not put(target, json.dumps(holder).encode(), once=True):
            other = json.loads(target.read_bytes())
            if time.time() - other["since"] < _LONGEST_LOCK_S:
                raise TareError(
                    IO,
                    f"fleet: process {other['process']} on {other['host']} maintains {target.parent}: wait for its end, or delete {target.name}"
                    " there if that process is gone",
                )
            put(target, json.dumps(holder).encode(), once=False)
    try:
        yield
    finally:
        with suppress(Exception):
            target.unlink()


def system(path: Path) -> Any:
    """Fsspec's file system of a path."""
    return path.fs  # type: ignore[attr-defined]


def key(path: Path) -> str:
    """The path in its file system."""
    return str(path.path)  # type: ignore[attr-defined]
