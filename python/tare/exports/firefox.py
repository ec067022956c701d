"""A processed profile for profiler.firefox.com: allocations with stacks, the heap over time as a counter, findings as markers.

Each stack is one entry of nativeAllocations, at the chosen time, with the chosen measure: the profiler's retained sizes are those of the blocks
in use then. The profiler upgrades version 48 to its own.
"""

from __future__ import annotations

import json
from array import array
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from tare._core import write_numbers
from tare.analysis.languages import remedy
from tare.exports.found import findings
from tare.exports.samples import Samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.analysis.stacks import Tree
    from tare.exports.selection import Selection

    Place = tuple[str, str, int | None]  # function, file, line

_VERSION, _GECKO_VERSION = 48, 27
_MS_NS = 1e6
_CATEGORIES = [{"name": "Other", "color": "grey", "subcategories": ["Other"]}]
_MARKER = "TareFinding"
_MOST_MARKERS = 1000
_NO_NUMBER = -(1 << 63)
_MARKER_SCHEMA = {
    "name": _MARKER,
    "display": ["marker-chart", "marker-table", "timeline-memory"],
    "tooltipLabel": "{marker.data.lens}: {marker.data.site}",
    "tableLabel": "{marker.data.lens}: {marker.data.site}: {marker.data.remedy}",
    "data": [
        {"key": "lens", "label": "Lens", "format": "string"},
        {"key": "site", "label": "Site", "format": "string"},
        {"key": "bytes", "label": "Bytes", "format": "bytes"},
        {"key": "remedy", "label": "Remedy", "format": "string"},
    ],
}


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    process = recording.process
    samples = Samples(recording, selection, with_tare=selection.shown == "tare_space", with_threads=True)
    tree = samples.stacks.tree(lambda frame: (frame.name, frame.file, frame.line), outermost_first=True)
    nodes, threads, weights = array("q"), array("q"), array("q")
    for batch, numbers, amounts in samples.of_measure_by_thread(selection.shown):
        nodes.extend(tree.add(batch, amounts))
        threads.extend(
            number if number > 0 else process["pid"] for number in numbers
        )  # of the main one, and where it isn't known
        weights.extend(amounts)
    peak_ms, end_ms = (process["peak_time_ns"] or 0) / _MS_NS, (process["duration_ns"] or 0) / _MS_NS
    at_ns = selection.at_ns
    time = at_ns / _MS_NS if at_ns is not None else peak_ms if selection.at == "peak" else end_ms
    count, strings = len(nodes), _Strings()
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
        "markers": _markers(recording, selection, strings, peak_ms),
        "nativeAllocations": {
            "time": _Same(time, count),
            "weight": weights,
            "weightType": "bytes",
            "stack": _Nodes(nodes),
            "memoryAddress": array("q", range(16, 16 * count + 1, 16)),
            "threadId": threads,
            "length": count,
        },
        **_tables(tree, strings),
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
            "markerSchema": [_MARKER_SCHEMA],
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        },
        "libs": [],
        "pages": [],
        "counters": [_heap(recording)],
        "threads": [thread],
    }
    _write(document, out)


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


def _markers(recording: Recording, selection: Selection, strings: _Strings, time: float) -> dict[str, Any]:
    """An instant at the peak for each finding, the largest first."""
    found = findings(recording, selection)[:_MOST_MARKERS]
    return {
        "data": [
            {
                "type": _MARKER,
                "lens": each.lens.name,
                "site": str(each.frame),
                "bytes": each.bytes,
                "remedy": remedy(each.finding, each.frame),
            }
            for each in found
        ],
        "name": [strings(f"tare: {each.lens.name}") for each in found],
        "startTime": [time] * len(found),
        "endTime": [None] * len(found),
        "phase": [0] * len(found),
        "category": [0] * len(found),
        "length": len(found),
    }


class _Strings:
    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


class _Nodes(NamedTuple):
    """Nodes of the tree as the profile numbers them: without the root, which is null."""

    numbers: array[int]


class _Same(NamedTuple):
    """An array of one number, so many times."""

    value: float
    times: int


_PIECE = 1 << 14


def _write(value: object, out: IO[bytes]) -> None:
    """Long arrays never lie in memory as text or as objects."""
    if isinstance(value, dict):
        for number, (key, each) in enumerate(value.items()):
            out.write(b"{"[: number == 0] + b","[: number > 0] + json.dumps(key).encode() + b":")
            _write(each, out)
        out.write(b"}" if value else b"{}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, each in enumerate(value):
            out.write(b","[: number > 0] or b"[")
            _write(each, out)
        out.write(b"]")
    elif isinstance(value, array | _Nodes):
        is_tree = isinstance(value, _Nodes)
        numbers = value.numbers if isinstance(value, _Nodes) else value
        out.write(b"[")
        write_numbers(numbers.tobytes(), 0 if is_tree else _NO_NUMBER, -1 if is_tree else 0, out.write)
        out.write(b"]")
    elif isinstance(value, _Same):
        text = json.dumps(value.value).encode() + b","
        out.write(b"[")
        for at in range(0, value.times, _PIECE):
            piece = text * min(_PIECE, value.times - at)
            out.write(piece if at + _PIECE < value.times else piece[:-1])
        out.write(b"]")
    else:
        out.write(json.dumps(value, separators=(",", ":")).encode())


def _tables(tree: Tree[Place], strings: _Strings) -> dict[str, Any]:
    """Functions, frames, stacks and strings, each once. A stack is a node of the tree."""
    functions: dict[tuple[str, str], int] = {}
    function_of = [functions.setdefault((name, file), len(functions)) for name, file, _ in tree.keys]
    parents, frames = tree.parents, tree.frames
    count = len(parents) - 1

    def same(value: float | None, of: list[Any] | dict[Any, Any]) -> list[Any]:
        return [value] * len(of)

    tables: dict[str, Any] = {
        "funcTable": {
            "isJS": same(False, functions),
            "relevantForJS": same(False, functions),
            "name": [strings(name) for name, _ in functions],
            "resource": same(-1, functions),
            "fileName": [strings(file) if file else None for _, file in functions],
            "lineNumber": same(None, functions),
            "columnNumber": same(None, functions),
            "length": len(functions),
        },
        "frameTable": {
            "address": same(-1, function_of),
            "inlineDepth": same(0, function_of),
            "category": same(0, function_of),
            "subcategory": same(0, function_of),
            "func": function_of,
            "nativeSymbol": same(None, function_of),
            "innerWindowID": same(0, function_of),
            "implementation": same(None, function_of),
            "line": [line for _, _, line in tree.keys],
            "column": same(None, function_of),
            "length": len(function_of),
        },
        "stackTable": {
            "frame": array("q", frames[1:]),
            "prefix": _Nodes(array("q", parents[1:])),
            "category": _Same(0, count),
            "subcategory": _Same(0, count),
            "length": count,
        },
        "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
        "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
    }
    tables["stringArray"] = list(strings.numbers)
    return tables
