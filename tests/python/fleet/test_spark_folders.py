"""Spark's folders of ended commands are found and deleted; those in use, new ones and links stay."""

import fcntl
import os
import time
from pathlib import Path

import pytest
from tare import cli
from tare.fleet import spark_folders


def make(parent: Path, name: str, age_s: float = 3600.0) -> Path:
    folder = parent / f"{spark_folders.PREFIX}{name}"
    (folder / "blockmgr").mkdir(parents=True)
    (folder / "blockmgr/block").write_bytes(b"x" * 10_000)
    changed = time.time() - age_s
    os.utime(folder, (changed, changed))
    return folder


def test_a_folder_that_nothing_uses_is_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = make(tmp_path, "left")
    (found,) = spark_folders.find([str(tmp_path), str(tmp_path)])
    assert (found.path, found.reason_to_stay) == (str(left), "")
    assert found.bytes >= 10_000
    assert cli.main(["clean", "--dry-run", str(tmp_path)]) == 0
    assert left.exists()
    assert cli.main(["clean", str(tmp_path)]) == 0
    assert not left.exists()
    shown, deleted = capsys.readouterr().out.split("would be freed")
    assert f"{left}: 12.0 KiB, unchanged for 60 min" in shown and "s: would be deleted" in shown
    assert f"{left}: 12.0 KiB, unchanged for 60 min" in deleted and "s: deleted" in deleted


def test_a_locked_folder_stays(tmp_path: Path) -> None:
    used = make(tmp_path, "used")
    lock = os.open(used, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (found,) = spark_folders.find([str(tmp_path)])
        assert "still uses it" in found.reason_to_stay
        assert cli.main(["clean", str(tmp_path)]) == 0
    finally:
        os.close(lock)
    assert used.exists()
    (found,) = spark_folders.find([str(tmp_path)])
    assert found.reason_to_stay == ""


def test_a_new_folder_stays(tmp_path: Path) -> None:
    """Its command may not have locked it yet."""
    new = make(tmp_path, "new", age_s=1.0)
    assert cli.main(["clean", str(tmp_path)]) == 0
    assert new.exists()


def test_links_and_files_of_that_name_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    elsewhere = make(tmp_path / "elsewhere", "other")
    link, file = tmp_path / f"{spark_folders.PREFIX}link", tmp_path / f"{spark_folders.PREFIX}file"
    link.symlink_to(elsewhere)
    file.write_text("mine")
    assert list(spark_folders.find([str(tmp_path)])) == []
    assert cli.main(["clean", str(tmp_path)]) == 0
    assert link.is_symlink() and file.exists() and (elsewhere / "blockmgr/block").exists()
