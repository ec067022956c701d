"""Snapshots on disk: complete or absent, and a full disk costs the oldest."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tare.errors import IO, TareError
from tare.watch.snapshots import Limits, name_of
from tare.watch.store import Store

NOW = 1_795_000_000_000


def store_in(path: Path) -> Store:
    path.mkdir(exist_ok=True)
    return Store(os.open(path, os.O_RDONLY | os.O_DIRECTORY), str(path))


def name(age_s: int, reason: str = "timer") -> str:
    return name_of("app", "7-a", NOW - age_s * 1000, reason, 5)


def test_a_snapshot_appears_with_its_note(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    assert store.add(name(0), lambda out: Path(out).write_text("x") and None, b"{}\n", NOW) == 0
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [name(0), f"{name(0)}.note"]
    (snapshot,) = store.listed()
    assert snapshot.file_bytes >= 2


def test_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")

    def fail(out: str) -> None:
        Path(out).write_text("half")
        raise TareError("Corrupt", "damaged")

    with pytest.raises(TareError, match="damaged"):
        store.add(name(0), fail, b"{}", NOW)
    assert list((tmp_path / "s").iterdir()) == []


def test_a_full_disk_costs_the_oldest_first(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for age_s in (300, 200, 100):
        store.add(name(age_s), lambda out: Path(out).write_text("x") and None, None, NOW)

    def needs_two_fewer(out: str) -> None:
        Path(out).write_text("x")
        if len(list((tmp_path / "s").glob("*.tare"))) > 1:
            raise TareError(IO, f"{out}: {os.strerror(errno.ENOSPC)}")

    assert store.add(name(0), needs_two_fewer, None, NOW) == 2
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == sorted([name(100), name(0)])


def test_a_disk_that_stays_full_is_stated(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for age_s in range(1, 40):
        store.add(name(age_s), lambda out: Path(out).write_text("x") and None, None, NOW)

    def full(out: str) -> None:
        raise TareError(IO, f"{out}: {os.strerror(errno.ENOSPC)}")

    with pytest.raises(TareError, match="No space left") as raised:
        store.add(name(0), full, None, NOW)
    assert store.is_full(raised.value)
    assert len(store.listed()) == 39 - 16  # not all of the history, for nothing


def test_room_is_left_for_the_recorders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their files are sparse: a recorder whose file can't grow stops for good."""
    store = store_in(tmp_path / "s")
    for age_s in (300, 200, 100):
        store.add(name(age_s), lambda out: Path(out).write_text("x") and None, None, NOW)
    real = os.statvfs(tmp_path)
    free = {3: 10 << 20, 2: 12 << 20, 1: 17 << 20}  # by the number of snapshots

    def statvfs(_fd: int) -> os.statvfs_result:
        fields = list(real)
        fields[1], fields[2], fields[4] = 4096, 1 << 20, free[len(list((tmp_path / "s").glob("*.tare")))] // 4096
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "statvfs", statvfs)
    assert store.add(name(0), lambda out: Path(out).write_text("x") and None, None, NOW) == 2
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == sorted([name(100), name(0)])


def test_other_failures_delete_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    store.add(name(9), lambda out: Path(out).write_text("x") and None, None, NOW)

    def fails(out: str) -> None:
        raise TareError(IO, f"{out}: {os.strerror(errno.EACCES)}")

    with pytest.raises(TareError, match="Permission"):
        store.add(name(0), fails, None, NOW)
    assert len(store.listed()) == 1


def test_cleaning_deletes_what_killed_writers_left(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = store_in(folder)
    store.add(name(5), lambda out: Path(out).write_text("x") and None, b"{}", NOW)
    alive = os.getppid()
    gone = 4_000_000_000
    for left in (f".new-{gone}-1", f".new-{alive}-1", f"{name(7)}.note", f"{name(5)}.4711", "notes of the owner.txt"):
        (folder / left).write_text("x")
    (folder / f".{name(7)}.cache").mkdir()
    (folder / f".{name(7)}.cache" / "tables").write_text("x")
    store.clean()
    assert {path.name for path in folder.iterdir()} == {
        name(5),
        f"{name(5)}.note",
        f"{name(5)}.4711",
        f".new-{alive}-1",
        "notes of the owner.txt",
    }


def test_deleting_takes_the_cache_and_the_childrens_traces_too(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = store_in(folder)
    for age_s in (1, 2):
        store.add(name(age_s), lambda out: Path(out).write_text("x") and None, b"{}", NOW)
        (folder / f".{name(age_s)}.cache").mkdir()
        (folder / f".{name(age_s)}.cache" / "tables").write_text("x" * 9000)
        (folder / f"{name(age_s)}.4711").write_text("x")
    assert all(each.file_bytes > 9000 for each in store.listed())
    kept = store.rotate(NOW, Limits(1, 1 << 40))
    assert [each.name for each in kept] == [name(1)]
    assert {path.name for path in folder.iterdir()} == {
        name(1),
        f"{name(1)}.note",
        f".{name(1)}.cache",
        f"{name(1)}.4711",
    }
