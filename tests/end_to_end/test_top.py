"""tare top on programs that run: figures as they change, whoever records them, and a recording that doesn't notice."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commanded import Commanded, asleep, blocks_of, facts, recorded_by_run, started, succeed, wait_until_awake

if TYPE_CHECKING:
    from conftest import Tare

Build = Callable[..., Path]


def look(tare: Tare, pid: int, *options: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(succeed(tare, "top", pid, "--once", "--json", *options))
    return told


def made_by(told: dict[str, Any], function: str = "make") -> dict[str, Any]:
    (site,) = [site for site in told["sites"] if site["function"] == function]
    return site  # type: ignore[no-any-return]


def test_it_shows_what_lives_and_who_made_it(tare: Tare, program: Build) -> None:
    with recorded_by_run(tare, program("commanded.c")) as commanded:
        # -q: replayed from the trace, by the one who looks
        commanded.tell("make 1000 4001")
        told = look(tare, commanded.pid)
        assert (told["program"], told["pid"]) == ("commanded", commanded.pid)
        site = made_by(told)
        assert (site["blocks"], site["slop_bytes"], Path(site["file"]).name) == (1000, 7000, "commanded.c")
        assert site["gross_bytes"] == 1000 * 4016
        assert told["launcher_cpu_ns"] is None
        commanded.tell("drop")
        assert "make" not in {site["function"] for site in look(tare, commanded.pid)["sites"] if site["blocks"]}
        commanded.end()
    assert sorted(path.name for path in tare.folder.iterdir() if not path.name.startswith(".")) == ["t.tare"]


def loud(tare: Tare, program: Path) -> Any:
    """Recorded with figures kept on the way, as `tare run` does without -q."""
    return started([tare.command, "run", "-o", "t.tare", "--", program], tare.folder, recorded=True)


def test_the_launcher_makes_the_figures_and_its_number_does_as_well(tare: Tare, program: Build) -> None:
    with loud(tare, program("commanded.c")) as commanded:
        commanded.tell("make 1000 4001", "drop", "make 500 4001")
        for pid in (commanded.pid, commanded.process.pid):
            told = look(tare, pid)
            assert told["pid"] == commanded.pid
            assert made_by(told)["blocks"] == 500
            assert made_by(told)["calls"] == 1500
            assert told["peak"]["blocks"] >= 1000
            assert told["launcher_cpu_ns"] > 0
        text = succeed(tare, "top", commanded.pid, "--once")
        assert "make (commanded.c:" in text
        assert f"commanded (pid {commanded.pid})" in text
        commanded.end()


def test_looks_follow_the_program_to_its_end(tare: Tare, program: Build) -> None:
    with loud(tare, program("commanded.c")) as commanded:
        commanded.tell("make 100 4001")
        top = subprocess.Popen(
            [tare.command, "top", str(commanded.pid), "--json", "--interval", "0.1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert top.stdout is not None
        first = json.loads(top.stdout.readline())
        assert made_by(first)["blocks"] == 100
        commanded.tell("make 300 4001")
        while (told := json.loads(top.stdout.readline()))["live"]["blocks"] < 400:
            assert told["since_ns"] < told["duration_ns"]
        assert made_by(told)["blocks"] == 400
        assert made_by(told)["gross_change"] == 300 * 4016
        assert told["allocations_per_second"] > 0
        commanded.end()
        _, errors = top.communicate(timeout=60)
        assert (top.returncode, "has ended" in errors) == (0, True)


def test_it_looks_at_attached_programs(tare: Tare, program: Build) -> None:
    with asleep(tare, program("commanded.c")) as commanded:
        refused = tare("top", str(commanded.pid), "--once")
        assert (refused.returncode, "has no launcher" in refused.stderr) == (125, True)
        attach = subprocess.Popen([tare.command, "attach", str(commanded.pid), "-o", "a.tare"], cwd=tare.folder)
        wait_until_awake(commanded)
        commanded.tell("make 100 4001")
        assert made_by(look(tare, commanded.pid))["blocks"] >= 100
        commanded.end()
        assert attach.wait(timeout=60) == 0


def without_times(told: dict[str, Any]) -> dict[str, Any]:
    of_a_run = ("pid", "duration_ns", "time_ns", "byte_seconds", "account", "of_peak_bytes", "of_run_ns")
    return {name: told[name] for name in told if name not in of_a_run}


def test_a_recording_doesnt_notice_that_it_was_looked_at(tare: Tare, program: Build) -> None:
    reports = []
    for looks in (0, 3):
        with loud(tare, program("commanded.c")) as commanded:
            for _ in range(3):
                commanded.tell("make 500 4001", "grow 5000", "drop", "make 200 24", "fork 10 77")
                for _ in range(looks):
                    look(tare, commanded.pid)
            commanded.end()
        report = tare.report(tare.folder / "t.tare")
        reports.append(json.loads(json.dumps(report), object_hook=without_times))
        assert facts(tare, tare.folder / "t.tare")["impossible_events"] == 0
        assert blocks_of(tare, tare.folder / "t.tare", 24)["total"] >= 600
    assert reports[0] == reports[1]


def test_nothing_stays_behind_when_who_asked_is_gone(tare: Tare, program: Build) -> None:
    with loud(tare, program("commanded.c")) as commanded:
        (mine,) = [path for path in mapped(commanded) if path.endswith("/control")]
        commanded.tell("make 10 4001")
        # Asks, and isn't there any more when the answer comes.
        Path(mine).parent.joinpath("999999.1.request").symlink_to(f"figures {commanded.pid}")
        look(tare, commanded.pid)
        look(tare, commanded.pid)  # the first may have been answered before
        assert Path(mine).parent.joinpath("999999.tables").exists()
        commanded.end()
        left = Path(mine).parent
    assert not left.exists()


def mapped(commanded: Commanded) -> set[str]:
    lines = Path(f"/proc/{commanded.pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if "/tare-" in line}


def test_text_fits_a_narrow_terminal(tare: Tare, program: Build) -> None:
    with loud(tare, program("commanded.c")) as commanded:
        commanded.tell("make 2000 40", "drop")
        done = tare("top", str(commanded.pid), "--once", env={"COLUMNS": "60"})
        assert max(map(len, done.stdout.splitlines())) <= 60
        commanded.end()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(("x",), "process number"), (("1", "--interval", "0"), "at least 0.1"), (("1", "-n", "-1"), "--rows")],
)
def test_what_cannot_be_is_said(tare: Tare, arguments: tuple[str, ...], why: str) -> None:
    done = tare("top", *arguments, "--once")
    assert (done.returncode, why in done.stderr) == (2, True)
