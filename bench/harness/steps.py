# SPDX-License-Identifier: Apache-2.0
"""CPU time by process and step: samples of `perf record`, attributed to a system call, to page faults, or to a library."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

FREQUENCY_HZ = 5000
FRAME = re.compile(r"\s*[0-9a-f]+ (.*) \((.*)\)$")
ENTRY = re.compile(r"__(?:x64|do)_sys_(\w+)")


def step_of(frames: list[tuple[str, str]]) -> str:
    """`frames`: symbol and object, the innermost first."""
    if not frames[0][1].startswith("[kernel"):
        return "code of " + Path(frames[0][1]).name.split(".so")[0]
    for symbol, _ in reversed(frames):
        if found := ENTRY.fullmatch(symbol):
            return found[1]
        if symbol.endswith("exc_page_fault"):
            return "page faults"
    return "other kernel"


def profile(command: list[str], folder: Path) -> Counter[tuple[str, str]]:
    """Microseconds by process name and step. Sampling itself adds some 20 percent."""
    with tempfile.NamedTemporaryFile() as data:
        record = ["perf", "record", "-q", "-g", "-F", str(FREQUENCY_HZ), "-o", data.name, "--"]
        subprocess.run([*record, *command], cwd=folder, check=True, capture_output=True)
        script = ["perf", "script", "-i", data.name, "-F", "comm,ip,sym,dso"]
        text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    spent: Counter[tuple[str, str]] = Counter()
    for sample in text.split("\n\n"):
        lines = sample.strip("\n").split("\n")
        found = [FRAME.match(line) for line in lines[1:]]
        frames = [(frame[1].split("+")[0], frame[2]) for frame in found if frame]
        if frames:
            spent[lines[0].strip(), step_of(frames)] += round(1e6 / FREQUENCY_HZ)
    return spent
