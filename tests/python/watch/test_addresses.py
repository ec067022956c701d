"""Addresses of snapshots: FOLDER@now, @last, @peak, a time ago, and one process of a folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from machine import MIB, Machine
from tare.errors import TareError
from tare.watch import addresses
from tare.watch.addresses import resolved
from tare.watch.process import Processes
from tare.watch.snapshots import name_of

HOUR_MS = 3_600_000


@pytest.fixture
def folder(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three hours of process 7, whose heap was largest an hour ago; process 8 was killed two hours ago."""
    proc = str(machine.proc)
    monkeypatch.setattr(addresses, "Processes", lambda: Processes(proc))
    (machine.folder / "snapshots").mkdir()
    now_ms = time.time_ns() // 1_000_000
    for minutes, live in ((180, 10), (120, 20), (61, 90), (30, 40), (1, 50)):
        name = name_of("app", "7-a", now_ms - minutes * 60_000, "timer", live)
        (machine.folder / "snapshots" / name).write_text(f"7 {minutes}")
    (machine.folder / "snapshots" / name_of("app", "8-b", now_ms - 2 * HOUR_MS, "killed", 70)).write_text("8 killed")
    return machine.folder


def read(address: str) -> str:
    return Path(resolved(address)).read_text()


def test_times_and_peaks(folder: Path) -> None:
    assert read(f"{folder}@last") == read(f"{folder}/@last") == "7 1"
    assert read(f"{folder}@peak") == "7 61"
    assert read(f"{folder}@1h") == "7 61"
    assert read(f"{folder}@40min") == "7 30"
    assert read(f"{folder}@7d") == "7 180"
    assert read(f"{folder}/8@last") == read(f"{folder}/8@peak") == read(f"{folder}/8@1h") == "8 killed"


def test_now_is_a_new_snapshot_of_the_largest_living_process(folder: Path, machine: Machine) -> None:
    machine.start(7)
    machine.write(7, 3 * MIB)
    machine.start(9)
    machine.write(9, 4 * MIB)
    machine.write(10, 99 * MIB, boot_id="earlier")
    path = resolved(f"{folder}@now")
    assert os.path.dirname(path) == str(folder / "snapshots") and ".now." in path
    assert Path(path).read_text().startswith("recording of 9 with")
    assert read(f"{folder}/7@now").startswith("recording of 7 with")
    assert read(f"{folder}/10@now").startswith("recording of 10 with")  # ended: as it left its file
    assert read(f"{folder}/7.0.watch").startswith("recording of 7 with")


def test_a_folder_of_another_user_is_read_into_the_users_cache(
    folder: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine.start(7)
    machine.write(7)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refused(_store: object, _name: str, _write: object) -> None:
        raise TareError("Io", "Permission denied")

    monkeypatch.setattr("tare.watch.store.Store.add_once", refused)
    assert resolved(f"{folder}@now").startswith(str(tmp_path / "cache/tare/watch"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_writes_nothing_into_a_folder_of_another_user(
    folder: Path, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(addresses, "_MOST_CACHED", 2)
    machine.start(7)
    machine.write(7)
    os.chown(folder, 12345, 12345)
    before = sorted(folder.rglob("*"))
    for _ in range(12):
        made = resolved(f"{folder}@now")
    assert made.startswith(str(tmp_path / "cache/tare/watch"))
    assert sorted(folder.rglob("*")) == before
    assert len(list((tmp_path / "cache/tare/watch").glob("*.tare"))) == 2
    assert os.path.exists(made)


def test_other_texts_stay(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a@1h").write_text("")
    for text in ("app.tare", str(tmp_path / "a@1h"), "missing@now", "@now", "", "x.watch", f"{folder}/x@now"):
        assert resolved(text) == text


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("{}@soon", "no snapshot '@soon': give FOLDER@now"),
        ("{}@", "no snapshot '@'"),
        ("{}/99@last", "has no snapshot of process 99: start `tare watch --serve"),
        ("{}@now", "has no watched file"),
    ],
)
def test_addresses_without_a_snapshot(folder: Path, address: str, message: str) -> None:
    with pytest.raises(TareError, match=message):
        resolved(address.format(folder))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(TareError, match="has no snapshot: start"):
        resolved(f"{tmp_path}@last")
