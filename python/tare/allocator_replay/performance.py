"""One performance of a recording's calls by an allocator, and its results."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.errors import INTERNAL, IO, TareError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.allocator_replay.allocators import Allocator


class Sample(NamedTuple):
    """RSS at one time."""

    ns: int  # since the performance began
    order: int  # steps taken
    bytes: float
    recorded_ns: int  # when the recorded program was there


@dataclass
class Performance:
    """Figures of the heap alone: the performer's own memory is subtracted."""

    allocator: str
    library: str  # where malloc really came from
    peak_rss_bytes: float
    rss_at_peak_bytes: float  # when most requested bytes were live
    usable_at_peak_bytes: float
    cpu_s: float
    wall_s: float
    faults: float
    failed_calls: int
    copied_bytes: float  # by reallocs that moved a block
    # Before the first call: its library and its start-up; beside the performer's own memory, which is the same under
    # all of them.
    before_bytes: float
    rss: list[Sample] = field(default_factory=list)

    @property
    def in_program_bytes(self) -> float:
        """The allocator's part of a program's peak RSS: the heap, its library, and its start-up."""
        return self.before_bytes + self.peak_rss_bytes


def perform(
    script: str,
    allocator: Allocator,
    *,
    speed: float,
    calling: bool = True,
    beside: Sequence[str] = (),
    verb: str = "replay",
) -> Performance:
    """Runs the performer once, with the libraries `beside` loaded, too. An allocator that dies, or that isn't the requested
    one, is an error (Io).
    """
    from tare.installation import beside_core

    helper = beside_core("tare-perform")
    answer, report = os.pipe()
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if preloaded := [*([allocator.library] if allocator.library else []), *beside]:
        environment["LD_PRELOAD"] = ":".join(preloaded)
    try:
        process = subprocess.Popen(
            [helper, script, str(report), repr(speed), "called" if calling else "left-alone"],
            pass_fds=[report],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        raise TareError(IO, f"{verb}: can't start {helper}: {error.strerror}") from None
    finally:
        os.close(report)
    with process, os.fdopen(answer) as stream:
        try:
            text = stream.read()
            said = process.stderr.read() if process.stderr else ""
            status = process.wait()
        except BaseException:
            process.kill()
            raise
    if status != 0 or not text:
        why = said.strip().splitlines()[-1] if said.strip() else "it said nothing"
        ended = f"signal {-status}" if status < 0 else f"status {status}"
        raise TareError(IO, f"{verb}: {allocator.name} ended with {ended}: {why}")
    performed = read(allocator.name, json.loads(text))
    if allocator.library and os.path.realpath(performed.library) != os.path.realpath(allocator.library):
        raise TareError(IO, f"{verb}: {allocator.library} brings no malloc: the calls went to {performed.library}")
    return performed


def read(name: str, fields: dict[str, Any]) -> Performance:
    try:
        return Performance(
            allocator=name,
            library=fields["malloc"],
            peak_rss_bytes=fields["peak_heap_rss_bytes"],
            rss_at_peak_bytes=fields["heap_rss_at_peak_bytes"],
            usable_at_peak_bytes=fields["usable_at_peak_bytes"],
            cpu_s=fields["user_s"] + fields["system_s"],
            wall_s=fields["wall_s"],
            faults=fields["faults"],
            failed_calls=fields["failed_calls"],
            copied_bytes=fields["copied_bytes"],
            before_bytes=fields["resident_before_bytes"],
            rss=[Sample(*each) for each in fields["rss"]],
        )
    except (KeyError, TypeError, ValueError):
        raise TareError(INTERNAL, "the report of tare-perform can't be read") from None


def without(performed: Performance, own: Performance) -> Performance:
    """Less the cost of performing without an allocator."""
    return Performance(
        performed.allocator,
        performed.library,
        max(performed.peak_rss_bytes - own.peak_rss_bytes, 0),
        max(performed.rss_at_peak_bytes - own.rss_at_peak_bytes, 0),
        performed.usable_at_peak_bytes,
        max(performed.cpu_s - own.cpu_s, 0),
        performed.wall_s,
        max(performed.faults - own.faults, 0),
        performed.failed_calls,
        performed.copied_bytes,
        performed.before_bytes - own.before_bytes,
        [each._replace(bytes=max(each.bytes - own.rss_at_peak_bytes, 0.0)) for each in performed.rss],
    )


def middle(runs: Sequence[Performance]) -> Performance:
    """Medians of several; the course is that of the run with the median peak."""
    by_peak = sorted(runs, key=lambda each: each.peak_rss_bytes)
    typical = by_peak[len(by_peak) // 2]

    def of(name: str) -> float:
        return median(float(getattr(each, name)) for each in runs)

    return Performance(
        typical.allocator,
        typical.library,
        of("peak_rss_bytes"),
        of("rss_at_peak_bytes"),
        of("usable_at_peak_bytes"),
        of("cpu_s"),
        of("wall_s"),
        of("faults"),
        max(each.failed_calls for each in runs),
        of("copied_bytes"),
        of("before_bytes"),
        typical.rss,
    )
