"""`tare run --budget` and `tare attach --budget`: limits that are kept, and the end of sampling where one can't be."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Tare

    Build = Callable[..., Path]

JSON = "import json; text = json.dumps([{'a': i, 'b': str(i) * 10} for i in range(20000)])\nfor _ in range(60): json.loads(text)"


def report(tare: Tare, trace: Path) -> dict[str, Any]:
    made = tare("report", trace, "--json")
    assert made.returncode == 0, made.stderr
    read: dict[str, Any] = json.loads(made.stdout)
    return read


def bytes_of_all(trace: Path) -> int:
    return sum(path.stat().st_size for path in trace.parent.glob(trace.name + "*"))


def test_the_distance_widens_to_keep_the_share(tare: Tare, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    done = tare("run", "--sample", "2K", "--budget", "cpu=1%", "-o", trace, "--", sys.executable, "-c", JSON)
    assert done.returncode == 0, done.stderr
    assert "sampled every 2.00 KiB, at the end " in done.stderr
    facts = report(tare, trace)
    assert facts["sample_bytes"] == 2048
    assert facts["sample_doublings"] >= 2
    assert facts["sampling_stopped_by"] is None
    assert facts["impossible_events"] == 0
    # 128 calls more than the share may pass before the distance doubles: some 2 ms
    assert facts["recorder_cpu_ns"] < 0.01 * (facts["process_cpu_ns"] + 1e9) + 10e6


def test_a_budget_alone_samples(tare: Tare, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    done = tare("run", "-q", "-o", trace, "--budget", "true")
    assert done.returncode == 0, done.stderr
    facts = report(tare, trace)
    assert (facts["sample_bytes"], facts["sample_doublings"]) == (512 << 10, 0)


def test_all_traces_fit_the_disk(tare: Tare, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    done = tare("run", "-q", "--sample", "512", "--budget", "disk=1M", "-o", trace, "--", sys.executable, "-c", JSON)
    assert done.returncode == 0, done.stderr
    facts = report(tare, trace)
    assert facts["sample_doublings"] >= 1
    assert facts["sampling_stopped_by"] is None
    assert facts["impossible_events"] == 0
    assert bytes_of_all(trace) <= 1 << 20


def test_processes_are_no_more_recorded_once_the_disk_is_full(tare: Tare, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    children = f"import subprocess, sys\nfor _ in range(40): subprocess.run([sys.executable, '-c', {JSON[:120] + chr(10)!r}], check=True)"
    done = tare("run", "--sample", "256", "--budget", "disk=256K", "-o", trace, "--", sys.executable, "-c", children)
    assert done.returncode == 0, done.stderr
    assert "the budget's disk space is used up" in done.stderr
    assert bytes_of_all(trace) <= 256 << 10
    facts = report(tare, trace)
    assert facts["sampling_stopped_by"] == "disk"
    assert "the traces took the disk space of the budget: sampling stopped after" in " ".join(
        tare("report", trace).stdout.split()
    )


def test_sampling_stops_where_the_memory_is_too_small(tare: Tare, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    done = tare("run", "--sample", "2K", "--budget", "memory=1M", "-o", trace, "--", sys.executable, "-c", JSON)
    assert done.returncode == 0, done.stderr
    assert "the recorder took more memory than the budget allows: sampling stopped after" in " ".join(
        done.stderr.split()
    )
    facts = report(tare, trace)
    assert facts["sampling_stopped_by"] == "memory"
    assert facts["sampling_stopped_ns"] > 0


def test_attach_keeps_a_budget(tare: Tare, program: Build, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    command = [sys.executable, "-c", f"import time\nwhile True:\n exec({JSON!r})"]
    with subprocess.Popen(command) as running:
        done = tare("attach", running.pid, "--sample", "2K", "--budget", "cpu=1%", "--for", "4", "-q", "-o", trace)
        running.kill()
    assert done.returncode == 0, done.stderr
    facts = report(tare, trace)
    assert facts["sample_doublings"] >= 1
    assert facts["impossible_events"] == 0


def test_options_of_the_program_come_after_two_dashes(tare: Tare) -> None:
    done = tare("run", "--budget", "ls", "-l")
    assert done.returncode == 125
    assert "no option '-l': options of CMD come after --" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "cpu=200%"], "run: --budget cpu needs a share of the program's CPU time, such as 0.5%: '200%'"),
        (["--budget", "cpu=1%,inodes=3"], "run: --budget needs limits such as cpu=0.5%,memory=16M,disk=1M"),
        (["--budget", "disk=1M", "--max-size", "1M", "--rotate", "3"], "run: --rotate limits the size on disk already"),
    ],
)
def test_wrong_limits_are_refused(tare: Tare, options: list[str], message: str) -> None:
    done = tare("run", *options, "--", "true")
    assert done.returncode == 125
    assert message in done.stderr
