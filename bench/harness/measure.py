"""Runs a command and returns the cost of it and all its descendants."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release/bench"
RUSAGE_OF = BUILD / "rusage-of"


class MeasuredCommandFailed(Exception):
    """The command ended with another status than expected; the message has the end of its output."""


@dataclass(frozen=True)
class Usage:
    cpu_seconds: float  # user and system, all processes
    wall_seconds: float  # until the last process ended
    max_rss_bytes: int  # of the largest process


def read_usage(file: Path) -> Usage:
    values = json.loads(file.read_text())
    return Usage(
        cpu_seconds=values["user_seconds"] + values["system_seconds"],
        wall_seconds=values["wall_seconds"],
        max_rss_bytes=values["max_rss_bytes"],
    )


def measure(
    command: list[str | Path],
    folder: Path,
    environment: dict[str, str] | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> Usage:
    """Runs `command` in `folder`; its output goes to `stdout` (else nowhere), its complaints to folder/stderr."""
    out = folder / "usage.json"
    complaints = folder / "stderr"
    with (
        Path(stdin or os.devnull).open("rb") as standard_input,
        Path(stdout or os.devnull).open("wb") as standard_output,
        complaints.open("wb") as standard_error,
    ):
        run = subprocess.run(
            [RUSAGE_OF, out, *command],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=standard_input,
            stdout=standard_output,
            stderr=standard_error,
            check=False,
        )
    if run.returncode != 0:
        words = complaints.read_text(errors="replace")[-2000:]
        raise MeasuredCommandFailed(f"status {run.returncode} from {' '.join(map(str, command))}\n{words}")
    return read_usage(out)


def cpu_s(
    command: list[str], folder: Path, environment: dict[str, str] | None = None, statuses: tuple[int, ...] = (0,)
) -> float:
    """CPU time of `command` and its descendants, of those that were waited for. Needs no build, unlike measure()."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in statuses:
        words = done.stderr.decode(errors="replace")[-2000:]
        raise MeasuredCommandFailed(f"status {done.returncode} from {' '.join(command)}\n{words}")
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
