# SPDX-License-Identifier: Apache-2.0
"""Short processes: one container for all of them, and each process's trace is as exact as that of any other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]

CHILDREN = 50
FIFTY = f"for i in $(seq {CHILDREN}); do /usr/bin/env true; done"


def members(tare: Tare, container: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tare.report(container)["members"]
    return found


def test_fifty_children_leave_one_container(tare: Tare) -> None:
    done = tare("run", "-o", "t.tare", "--", "bash", "-c", FIFTY)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tare.folder.iterdir() if path.is_file()) == ["t.tare", "t.tare.short"]
    found = members(tare, tare.folder / "t.tare.short")
    ended = [member for member in found if not member["replaced_by_exec"]]
    assert sum(member["program"] == "true" for member in ended) == CHILDREN
    assert all(member["wait_status"] in (0, None) for member in ended)
    said = [line for line in done.stderr.splitlines() if "t.tare.short" in line]
    assert len(said) == 1 and f"{len(found)} traces of short processes" in said[0]


def test_the_list_of_a_container_names_each_process(tare: Tare) -> None:
    tare.record("sh", "-c", "seq 7 > /dev/null; expr 1 + 1 > /dev/null; true")
    text = tare("report", "t.tare.short").stdout
    assert "seq 7" in text and "expr 1 + 1" in text
    assert "next: tare report t.tare.short:" in text
    refused = tare("sql", "t.tare.short", "select 1")
    assert refused.returncode != 0 and "t.tare.short:PID" in refused.stderr
    missing = tare("report", "t.tare.short:none")
    assert missing.returncode != 0 and "holds no trace of process none" in missing.stderr


def test_a_members_figures_are_those_of_a_file(tare: Tare, program: Program) -> None:
    """The same program, first as the command with a file of its own, then as a shell's child."""
    steady = program("steady.c")
    query = "select alloc_events, realloc_events, free_events, impossible_events, dropped_events from process"
    alone = tare.record(steady, tare.folder / "alone.count", "1000", name="alone.tare")
    tare.record("sh", "-c", f"{steady} {tare.folder}/child.count 1000; true", name="shell.tare")
    (member,) = (each for each in members(tare, tare.folder / "shell.tare.short") if each["program"] == steady.name)
    child = Path(member["path"])
    assert tare.sql(child, query) == tare.sql(alone, query)
    assert tare.report(child)["total"] == tare.report(alone)["total"]
    assert tare.sql(child, query) == tare.sql(alone, query), "the second time from the cache"
    assert (tare.folder / ".shell.tare.short.cache" / member["name"]).is_dir()


def test_a_short_process_takes_few_pages_of_tmpfs(tare: Tare) -> None:
    tare.record("sh", "-c", "/usr/bin/env true; true")
    for member in members(tare, tare.folder / "t.tare.short"):
        (facts,) = tare.sql(Path(member["path"]), "select spool_bytes from process")
        assert facts["spool_bytes"] <= 64 << 10


RANDOM_SIZES = """import random
random.seed(1)
kept = [bytes(600) for _ in range(1000)]
for _ in range(400_000): kept[random.randrange(1000)] = bytes(random.randrange(600, 9000))
"""


def test_a_process_of_a_large_trace_has_a_file_of_its_own(tare: Tare) -> None:
    (tare.folder / "random_sizes.py").write_text(RANDOM_SIZES)
    tare.record("sh", "-c", "/usr/bin/python3 random_sizes.py; true", options=("-q",))
    (child,) = tare.others("t.tare")
    assert child.is_file() and child.stat().st_size > 1 << 20
    assert tare.report(child)["dropped_events"] == 0


def test_children_of_children_name_their_parents(tare: Tare) -> None:
    """Each inherits what its parent had, also where both are in the container."""
    depth = 3
    code = "import os\nfor _ in range(DEPTH):\n    if os.fork(): os.wait(); os._exit(0)\n".replace("DEPTH", str(depth))
    tare.record("/usr/bin/python3", "-S", "-c", code)
    found = members(tare, tare.folder / "t.tare.short")
    assert len(found) == depth
    for member in found:
        report = tare("report", member["path"])
        assert "inherited from the parent" in report.stdout and "aren't counted" not in report.stdout, report.stdout


def test_a_killed_launchers_container_is_readable(tare: Tare) -> None:
    spools = tare.folder / "spools"
    spools.mkdir()
    script = f"{FIFTY}; sleep 100 & echo done; exec sleep 100"
    launcher = subprocess.Popen(
        [tare.command, "run", "-q", "-o", "t.tare", "--", "bash", "-c", script],
        cwd=tare.folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TARE_SPOOL_PARENT": str(spools)},
        start_new_session=True,
    )
    try:
        assert launcher.stdout is not None and launcher.stdout.readline() == "done\n"
        container = tare.folder / "t.tare.short"
        deadline = time.monotonic() + 60
        while not container.exists() or tare("report", container, "--json").stdout.count('"true"') < CHILDREN:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "is still being recorded" in " ".join(tare.report(container)["warnings"])
        while (
            sum(path.stat().st_size > 0 for path in spools.rglob("*.1.spool")) < 2
        ):  # each sleep is its process's second image
            assert time.monotonic() < deadline
            time.sleep(0.1)
        launcher.kill()
        launcher.wait()
        listed = tare.report(container)
        assert any("was killed" in warning for warning in listed["warnings"])
        ended = [member for member in listed["members"] if member["program"] == "true"]
        assert len(ended) >= CHILDREN
        assert tare.report(Path(ended[0]["path"]))["impossible_events"] == 0
        (sleeper,) = (member for member in listed["members"] if member["program"] == "sleep")
        assert sleeper["path"].endswith(".spool") and sleeper["events"] > 0
        assert tare.report(Path(sleeper["path"]))["impossible_events"] == 0
    finally:
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()


def test_a_container_cut_short_shows_what_is_whole(tare: Tare) -> None:
    tare.record("bash", "-c", "for i in $(seq 5); do seq 3; done", options=("-q",))
    container = tare.folder / "t.tare.short"
    whole = members(tare, container)
    os.truncate(container, container.stat().st_size * 2 // 3)
    listed = tare.report(container)
    assert 0 < len(listed["members"]) < len(whole)
    assert any("cut short" in warning for warning in listed["warnings"])
    assert json.dumps(listed["members"]) == json.dumps(whole[: len(listed["members"])])


def test_a_build_leaves_one_container(tare: Tare) -> None:
    if shutil.which("make") is None:
        pytest.skip("make isn't installed")
    (tare.folder / "Makefile").write_text(
        ".PHONY: all\nall: $(addsuffix .y,$(shell seq 20))\n%.y:\n\t@echo x | sed s/x/y/ > $@\n"
    )
    done = tare("run", "-q", "-o", "b.tare", "--", "make", "-j2", "-s")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in sorted(tare.folder.glob("b.tare*"))] == ["b.tare", "b.tare.short"]
    names = [member["program"] for member in members(tare, tare.folder / "b.tare.short")]
    assert names.count("sed") == 20
