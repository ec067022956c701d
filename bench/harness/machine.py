"""One line about the machine on which a number was measured."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine_description() -> str:
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    system = release.get("PRETTY_NAME", "Linux").strip('"')
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} × {cpu}, {memory_gib:.0f} GiB, {system}, Linux {platform.release()}, "
        f"load average {load:.1f} at the end"
    )
