"""Recordings for a store, made of a few sums, and a process that adds some and is killed on the way."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tare.fleet import adding, layout, upkeep
from tare.fleet.adding import Origin
from tare.fleet.facts import Facts

TOTALS: dict[str, Any] = {
    "program": "app", "command_line": "app --flag", "build_id": "ab" * 20, "host": "box", "started_ns": 1_000, "duration_ns": 5,
    "lenses": ["slop", "headers"], "sample_bytes": 0, "end_gross_bytes": 0.0, "end_tare_bytes": 0.0, "peak_rss_bytes": None,
    "tare_version": "0",
}  # fmt: skip


def facts(sites: Mapping[int, float], shown: Sequence[int] = (), **more: Any) -> Facts:
    """Gross bytes by site, a tenth of them slop; of the `shown` ones a finding."""
    gross = sum(sites.values())
    return Facts(
        TOTALS | {"peak_gross_bytes": gross, "peak_tare_bytes": gross / 10} | more,
        {
            "site_sums": [(site, 1.0, size, 0.0, 2.0, size / 10) for site, size in sites.items()],
            "claims": [("slop", site, size / 10, 0.0, 0.0, 2.0, site in shown) for site, size in sites.items()],
            "sites": [(site, "ab" * 20, f"f{site}", "a.c:1", "/bin/app", f"f{site}\nmain") for site in sites],
        },
    )


def add(
    store: Path, key: str, made: Facts, build: str = "1", machine: str = "box", bucket: int | None = None, **labels: str
) -> int:
    layout.create(store)
    return adding.add_facts(store, [(key, f"/r/{key}.tare", made, Origin(build, machine, labels))], bucket)


def _die_at(step: int) -> None:
    """SIGKILL instead of the call number `step` that changes the disk."""
    calls = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return call

    for name in ("mkdir", "fsync", "rename", "link", "unlink", "utime"):
        setattr(os, name, counted(getattr(os, name)))


def start(action: str, store: Path, keys: str, step: int = 0) -> subprocess.Popen[bytes]:
    """A process that adds recordings (`add`, keys separated by commas) or merges files (`compact`), killed at a step."""
    return subprocess.Popen([sys.executable, __file__, action, str(store), keys, str(step)])


if __name__ == "__main__":
    _, doing, folder, names, at = sys.argv
    _die_at(int(at))
    if doing == "compact":
        upkeep.compact(Path(folder))
    else:
        for each in names.split(","):
            add(Path(folder), each, facts({1: 100.0, 2: 50.0}))
