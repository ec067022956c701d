"""Scripts of a recording's calls, and the facts known before a performance."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tare.allocator_replay.allocators import GLIBC, Allocator, shared_with
from tare.errors import warn
from tare.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare._core import ScriptRule
    from tare.allocator_replay.performance import Performance


class Script(NamedTuple):
    """Counts of the core for one script."""

    path: str
    steps: int
    threads: int
    live_bytes: int  # requested, at the peak
    duration_ns: int
    foreign_frees: int
    reborn_blocks: int
    calls: int
    rewritten_blocks: int
    recorded_hand_copies: int  # bytes copied by growth without realloc at rewritten sites; no script performs them
    hand_copies: int  # of them, after the remedy


class Recorded(NamedTuple):
    """The process of the recording."""

    allocator: Allocator  # its library may be gone
    peak_rss_bytes: int | None  # without the recorder's memory
    shared: list[str]  # libraries that the program had loaded and allocators would load, too

    @property
    def allocator_exists(self) -> bool:
        return self.allocator.name == GLIBC or os.path.isfile(self.allocator.library)

    def outside_heap(self, performed: Performance | None) -> float | None:
        """The part of the program's RSS that isn't heap, found by performing the same calls with the recording's allocator. None where
        the performed heap is larger than the program: the program left a part of its blocks untouched."""
        if performed is None or self.peak_rss_bytes is None or performed.in_program_bytes > self.peak_rss_bytes:
            return None
        return self.peak_rss_bytes - performed.in_program_bytes


def write_scripts(path: str, scripts: Sequence[tuple[str, Sequence[ScriptRule]]]) -> tuple[list[Script], Recorded]:
    """Of the trace at `path`, which is read once for four scripts: a script at each path, rewritten by its rules."""
    from tare import _core

    with Progress("reading the calls") as progress:
        counted, (name, library, peak_rss, spool, modules, warnings) = _core.write_call_scripts(
            path, scripts, lambda done, total: progress.update(done / total if total else -1)
        )
    warn(warnings)
    own_rss = None if peak_rss is None else peak_rss - (spool or 0)
    recorded = Recorded(Allocator(name, "" if name == GLIBC else library), own_rss, shared_with(modules))
    return [Script(made, *facts) for (made, _), facts in zip(scripts, counted, strict=True)], recorded
