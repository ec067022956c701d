"""Instructions that a command executes in user space, counted by valgrind's callgrind."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Counted(NamedTuple):
    instructions: int
    stdout: str


def count_instructions(command: list[str | Path], environment: Mapping[str, str] | None = None) -> Counted:
    """Of the first process of `command`. Ends the bench if it fails."""
    valgrind: list[str | Path] = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    # Decoded leniently: a program may print anything.
    done = subprocess.run(
        [*valgrind, *command], env=environment, capture_output=True, text=True, errors="replace", check=True
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"valgrind printed no count: {done.stderr}")
    return Counted(int(collected[1]), done.stdout)
