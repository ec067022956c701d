"""Files that verbs write: whole or not at all; links lead to their files, and pipes and devices stay what they are."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from tare.commands import import_
from tare.commands.output_file import whole_file
from tare.errors import TareError


def test_an_error_leaves_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("former")
    with pytest.raises(ZeroDivisionError), whole_file(str(path), "export") as out:
        out.write(b"half")
        raise ZeroDivisionError
    assert path.read_text() == "former"
    assert os.listdir(tmp_path) == ["out"]


def test_the_file_that_a_link_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("former")
    (tmp_path / "link").symlink_to("real")
    with whole_file(str(tmp_path / "link"), "export") as out:
        out.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """So does a device: root's `-o /dev/null` must not take it away."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_file(str(pipe), "export") as out:
        out.write(b"all of it")
    reader.join(60)
    assert read == [b"all of it"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_an_import_refuses_what_is_no_file(tmp_path: Path) -> None:
    import argparse

    (tmp_path / "massif.out").write_text("desc: (none)\ncmd: x\ntime_unit: i\n")
    os.mkfifo(tmp_path / "pipe")
    options = argparse.Namespace(file=str(tmp_path / "massif.out"), output=str(tmp_path / "pipe"), format="massif")
    with pytest.raises(TareError, match="a recording needs a file"):
        import_.run(options)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
