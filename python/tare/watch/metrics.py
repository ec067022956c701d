"""Figures of the watcher and its processes as OpenMetrics text."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tare.watch.reader import Facts

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Own(NamedTuple):
    """The watcher's own figures."""

    snapshots: Mapping[str, int]  # by reason
    triggers: Mapping[str, int]
    failures: int
    kept_snapshots: int
    kept_bytes: int
    rounds: int


class Family(NamedTuple):
    name: str
    kind: str  # gauge, counter
    unit: str
    meaning: str
    samples: list[tuple[Mapping[str, str], float]]


def text(processes: Sequence[tuple[Facts, int | None]], own: Own) -> str:
    """`processes`: facts, and the resident bytes where the watcher can read them."""
    lines = list[str]()
    for family in (*_of_processes(processes), *_of_watcher(own)):
        lines.append(f"# TYPE {family.name} {family.kind}")
        if family.unit:
            lines.append(f"# UNIT {family.name} {family.unit}")
        lines.append(f"# HELP {family.name} {_escaped(family.meaning)}")
        suffix = "_total" if family.kind == "counter" else ""
        for labels, value in family.samples:
            lines.append(f"{family.name}{suffix}{_label_text(labels)} {_number(value)}")
    return "\n".join([*lines, "# EOF", ""])


def _of_processes(processes: Sequence[tuple[Facts, int | None]]) -> Iterable[Family]:
    rows = [({"pid": str(f.process_id), "image": f.image, "program": f.program}, f, rss) for f, rss in processes]

    def family(name: str, kind: str, unit: str, meaning: str, field: str) -> Family:
        return Family(name, kind, unit, meaning, [(labels, float(getattr(facts, field))) for labels, facts, _ in rows])

    yield family("tare_heap_live_bytes", "gauge", "bytes", "Live blocks, estimated from the sample.", "live_bytes")
    yield family(
        "tare_heap_live_error_bytes", "gauge", "bytes", "One standard error of the live bytes.", "live_bytes_error"
    )
    yield family("tare_heap_allocated_bytes", "counter", "bytes", "Allocated since the start.", "allocated_bytes")
    yield family("tare_heap_freed_bytes", "counter", "bytes", "Freed since the start.", "freed_bytes")
    yield family("tare_heap_allocated_blocks", "counter", "blocks", "Blocks allocated.", "allocated_blocks")
    yield family("tare_heap_freed_blocks", "counter", "blocks", "Blocks freed.", "freed_blocks")
    yield family("tare_heap_sample_bytes", "gauge", "bytes", "Mean bytes between samples now.", "sample_bytes")
    yield Family(
        "tare_process_resident_bytes",
        "gauge",
        "bytes",
        "Resident set of the process.",
        [(labels, float(rss)) for labels, _, rss in rows if rss is not None],
    )


def _of_watcher(own: Own) -> Iterable[Family]:
    times = os.times()
    yield Family("tare_watch_snapshots", "counter", "", "Snapshots taken, by reason.", _by("reason", own.snapshots))
    yield Family("tare_watch_triggers", "counter", "", "Triggers that fired.", _by("trigger", own.triggers))
    yield Family("tare_watch_failures", "counter", "", "Files or snapshots that failed.", [({}, own.failures)])
    yield Family("tare_watch_rounds", "counter", "", "Times that all files were read.", [({}, own.rounds)])
    yield Family("tare_watch_kept_snapshots", "gauge", "", "Snapshots on disk.", [({}, own.kept_snapshots)])
    yield Family("tare_watch_kept_bytes", "gauge", "bytes", "Bytes of the snapshots on disk.", [({}, own.kept_bytes)])
    yield Family(
        "tare_watch_cpu_seconds", "counter", "seconds", "CPU time of the watcher.", [({}, times.user + times.system)]
    )
    yield Family("tare_watch_resident_bytes", "gauge", "bytes", "Resident set of the watcher.", [({}, _own_rss())])


def _by(label: str, counts: Mapping[str, int]) -> list[tuple[Mapping[str, str], float]]:
    return [({label: name}, count) for name, count in sorted(counts.items())]


def _own_rss() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _label_text(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _escaped(value: str) -> str:
    """A program's name is any bytes."""
    known = value.encode("utf-8", "replace").decode()
    known = known.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return re.sub(r"[\x00-\x1f\x7f]", "?", known)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))
