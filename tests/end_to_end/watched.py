"""Watched programs: their environment, their files, and live bytes by site with errors."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from tare import _core
from tare.installation import recorder_library

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tare

BY_SITE = """
select f.function as site, sum(b.weight * b.usable_bytes) as bytes, sum(b.weight) as blocks,
       sum(b.usable_bytes * b.usable_bytes * b.weight * (b.weight - 1)) as variance
from blocks b join stack_sites s on s.stack_id = b.alloc_stack_id join sites using (site_id)
     join frames f on f.location_id = sites.site_location_id and f.inline_depth = 0
where b.freed_ns is null group by 1 order by 2 desc
"""


class Site(NamedTuple):
    bytes: float
    error: float


def environment(folder: Path, sample: str = "16K", **more: str) -> dict[str, str]:
    """Sampling can be repeated, if the program's calls can."""
    own = {"LD_PRELOAD": recorder_library(), "TARE_WATCH": str(folder), "TARE_SAMPLE": sample, "TARE_SAMPLE_SEED": "1"}
    return {**os.environ, **own, **more}


def watched(folder: Path, *command: str | Path, sample: str = "16K", **more: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [*map(str, command)], env=environment(folder, sample, **more), capture_output=True, text=True, timeout=300
    )


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.watch"))


def facts(path: Path) -> dict[str, Any]:
    return _core.watch_facts(str(path))


def trace_of(path: Path) -> Path:
    out = path.with_suffix(".tare")
    _core.watch_to_trace(str(path), str(out))
    return out


def live_by_site(tare: Tare, trace: Path) -> dict[str, Site]:
    return {row["site"]: Site(row["bytes"], row["variance"] ** 0.5) for row in tare.sql(trace, BY_SITE)}


# pymalloc's map of its arenas, allocated inside a call of pymalloc: samples don't have such blocks.
NOT_SAMPLED = ("arena_map_get",)


def check_sites(tare: Tare, watch: Path, exact: Path, count: int) -> None:
    """The `count` largest sites of the exact recording are within three standard errors in the watch file."""
    seen = live_by_site(tare, trace_of(watch))
    true = live_by_site(tare, exact)
    largest = [(site, live) for site, live in true.items() if site not in NOT_SAMPLED][:count]
    assert largest
    for site, was in largest:
        assert site in seen, (site, was)
        assert abs(seen[site].bytes - was.bytes) <= 3 * seen[site].error, (site, seen[site], was)
