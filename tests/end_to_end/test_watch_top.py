"""`tare top` of a watched process: its heap now, with errors, until it ends."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from test_watch import MIB, grow, growing, running

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tare


def made(tmp_path: Path) -> Path:
    folder = tmp_path / "heap"
    folder.mkdir()
    return folder


def test_top_shows_the_heap_now_and_leaves_no_snapshots(tare: Tare, tmp_path: Path) -> None:
    folder = made(tmp_path)
    with growing(folder) as program:
        grow(program, 20)
        (first,) = [json.loads(line) for line in tare("top", folder, "--once", "--json").stdout.splitlines()]
        assert first["pid"] == program.pid
        # 20 MiB in blocks of 1,000 bytes, with their objects, and the interpreter's own; the standard error is 1 MiB.
        assert 17 * MIB < first["live_bytes"] < 32 * MIB and 0 < first["live_bytes_error"] < 3 * MIB
        (largest, *_) = first["sites"]
        assert largest["change_bytes"] is None and 0 < largest["live_bytes_error"] < largest["live_bytes"]
        assert sum(site["live_bytes"] for site in first["sites"]) <= first["live_bytes"] + len(first["sites"])
        text = tare("top", f"{folder}/{program.pid}", "--once").stdout
        assert f"(pid {program.pid})" in text and "±" in text
    assert not list(folder.glob("snapshots/*"))


def test_top_ends_with_the_process(tare: Tare, tmp_path: Path) -> None:
    folder = made(tmp_path)
    with growing(folder) as program:
        grow(program, 5)
        command = [tare.command, "top", folder, "--json", "--interval", "200ms", "--sort", "change"]
        with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
            assert top.stdout is not None and top.stderr is not None
            assert json.loads(top.stdout.readline())["live_bytes"] > 0
            grow(program, 30)
            grown = 0
            for _ in range(100):
                grown += json.loads(top.stdout.readline())["sites"][0]["change_bytes"]
                if grown > 20 * MIB:
                    break
            assert grown > 20 * MIB
            program.kill()
            assert top.wait(60) == 0
            assert "the process has ended" in top.stderr.read()


def test_wrong_requests_are_refused_in_one_line(tare: Tare, tmp_path: Path) -> None:
    folder = made(tmp_path)
    for words, status, message in (
        ([folder], 4, "no watched file of a running process"),
        ([f"{folder}@1h"], 2, "shows a process as it is now"),
        ([folder, "--sort", "rate"], 2, "--sort is live or change"),
    ):
        done = tare("top", *words)
        assert done.returncode == status and message in done.stderr and done.stderr.count("\n") == 1
