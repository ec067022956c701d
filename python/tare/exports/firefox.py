"""A processed profile for profiler.firefox.com: allocations with stacks, and the heap over time as a counter.

Each stack and size is one entry of nativeAllocations, at the time of the peak: blocks live then with their bytes, so that the
profiler's retained sizes are those of the peak. The profiler upgrades version 48 to its own.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from tare.exports.samples import frames_of, prepare_names, samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_VERSION, _GECKO_VERSION = 48, 27
_MS_NS = 1e6
_CATEGORIES = [{"name": "Other", "color": "grey", "subcategories": ["Other"]}]


def write(recording: Recording, out: IO[bytes]) -> None:
    process = recording.process
    found = [sample for sample in samples(recording) if sample.peak_bytes]
    prepare_names(recording, found)
    tables = _Tables()
    peak_ms, end_ms = (process["peak_time_ns"] or 0) / _MS_NS, (process["duration_ns"] or 0) / _MS_NS
    stacks = [tables.stack(list(reversed(frames_of(recording, sample.stack_id)))) for sample in found]
    thread = {
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": end_ms,
        "registerTime": 0,
        "unregisterTime": end_ms,
        "pausedRanges": [],
        "name": process["program"],
        "processName": process["program"],
        "isMainThread": True,
        "pid": str(process["pid"]),
        "tid": process["pid"],
        # Two empty samples: the profiler takes the range of time from them.
        "samples": {"weightType": "samples", "weight": None, "stack": [None, None], "time": [0, end_ms], "length": 2},
        "markers": {"data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [], "length": 0},
        "nativeAllocations": {
            "time": [peak_ms] * len(found),
            "weight": [sample.peak_bytes for sample in found],
            "weightType": "bytes",
            "stack": stacks,
            "memoryAddress": [16 * number for number in range(1, len(found) + 1)],
            "threadId": [process["pid"]] * len(found),
            "length": len(found),
        },
        **tables.as_json(),
    }
    document = {
        "meta": {
            "version": _GECKO_VERSION,
            "preprocessedProfileVersion": _VERSION,
            "interval": 1,
            "startTime": process["start_realtime_ns"] / _MS_NS,
            "processType": 0,
            "product": process["program"],
            "importedFrom": "tare",
            "stackwalk": 1,
            "debug": False,
            "symbolicated": True,
            "categories": _CATEGORIES,
            "markerSchema": [],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        },
        "libs": [],
        "pages": [],
        "counters": [_heap(recording)],
        "threads": [thread],
    }
    out.write(json.dumps(document, separators=(",", ":")).encode())


def _heap(recording: Recording) -> dict[str, Any]:
    """Counters hold changes."""
    recording.database.use("timeline")
    times, changes, calls, before = [0.0], [0], [0], 0
    for time, gross, number in recording.database.rows(
        "select time_ns, gross_bytes, alloc_events + free_events from timeline order by time_ns"
    ):
        times.append(time / _MS_NS)
        changes.append(round(gross) - before)
        calls.append(number)
        before = round(gross)
    return {
        "name": "malloc",
        "category": "Memory",
        "description": "gross bytes of live blocks",
        "pid": str(recording.process["pid"]),
        "mainThreadIndex": 0,
        "samples": {"time": times, "count": changes, "number": calls, "length": len(times)},
    }


class _Tables:
    """Strings, functions, frames and stacks of a thread, each once."""

    def __init__(self) -> None:
        self._strings: dict[str, int] = {}
        self._functions: dict[tuple[str, str], int] = {}
        self._frames: dict[tuple[int, int | None], int] = {}
        self._stacks: dict[tuple[int | None, int], int] = {}

    def stack(self, frames: list[Frame]) -> int | None:
        """`frames` outermost first; None: an empty stack."""
        node: int | None = None
        for frame in frames:
            names = (frame.name, frame.file)
            function = self._functions.setdefault(names, len(self._functions))
            number = self._frames.setdefault((function, frame.line), len(self._frames))
            node = self._stacks.setdefault((node, number), len(self._stacks))
        return node

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def as_json(self) -> dict[str, Any]:
        functions, frames, stacks = list(self._functions), list(self._frames), list(self._stacks)

        def same(value: object, of: list[Any]) -> list[Any]:
            return [value] * len(of)

        tables: dict[str, Any] = {
            "funcTable": {
                "isJS": same(False, functions),
                "relevantForJS": same(False, functions),
                "name": [self._string(name) for name, _ in functions],
                "resource": same(-1, functions),
                "fileName": [self._string(file) if file else None for _, file in functions],
                "lineNumber": same(None, functions),
                "columnNumber": same(None, functions),
                "length": len(functions),
            },
            "frameTable": {
                "address": same(-1, frames),
                "inlineDepth": same(0, frames),
                "category": same(0, frames),
                "subcategory": same(0, frames),
                "func": [function for function, _ in frames],
                "nativeSymbol": same(None, frames),
                "innerWindowID": same(0, frames),
                "implementation": same(None, frames),
                "line": [line for _, line in frames],
                "column": same(None, frames),
                "length": len(frames),
            },
            "stackTable": {
                "frame": [frame for _, frame in stacks],
                "prefix": [prefix for prefix, _ in stacks],
                "category": same(0, stacks),
                "subcategory": same(0, stacks),
                "length": len(stacks),
            },
            "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
            "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
        }
        tables["stringArray"] = list(self._strings)
        return tables
