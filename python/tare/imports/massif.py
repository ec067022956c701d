"""massif's output: the stacks of its peak snapshot, or of the last detailed one. A stack has bytes, not blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tare.imports import frame_text, sums
from tare.imports.source_file import NONSENSE, Damaged
from tare.imports.sums import StackSums, Sum
from tare.imports.target import About

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.imports.source_file import SourceFile
    from tare.imports.target import Target

# `  n2: 4096 0x10916E: main (app.c:12)`, `n1: 0 in 3 places, all below massif's threshold (1.00%)`
_NODE = re.compile(r"( *)n(\d+): (\d+) (.*)")
_DEEPEST = 1000
_ROOT = "(heap allocation functions)"


class _Snapshot(NamedTuple):
    heap_bytes: int
    is_peak: bool
    nodes: list[str]


def matches(head: bytes) -> bool:
    return head.startswith(b"desc:") and b"\ntime_unit:" in head


def read(source: SourceFile, target: Target) -> None:
    lines = (line.decode(errors="replace") for line in source.lines())
    head = {}
    for line in lines:
        if line.startswith("#"):
            break
        name, _, value = line.partition(": ")
        head[name] = value
    try:
        _write(list(_detailed(lines)), head.get("cmd", ""), target)
    except NONSENSE as error:
        raise Damaged(f"it isn't massif's output ({error})") from None


def _detailed(lines: Iterator[str]) -> Iterator[_Snapshot]:
    heap, peak, nodes = 0, False, list[str]()
    for line in lines:
        if line.startswith("snapshot="):
            if nodes:
                yield _Snapshot(heap, peak, nodes)
            heap, peak, nodes = 0, False, []
        elif line.startswith("mem_heap_B="):
            heap = int(line.partition("=")[2])
        elif line.startswith("heap_tree="):
            peak = line == "heap_tree=peak"
        elif _NODE.fullmatch(line):
            nodes.append(line)
    if nodes:
        yield _Snapshot(heap, peak, nodes)


def _write(snapshots: list[_Snapshot], command: str, target: Target) -> None:
    if not snapshots:
        raise Damaged("no snapshot of massif's has stacks")
    words = command.split()
    missing = ["usable", "entry-points", "order", "totals", "counts", "end"]
    target.open(About("massif", missing, exe=words[0] if words else "", command=words, aggregated=True))
    peak = next((each for each in snapshots if each.is_peak), max(snapshots, key=lambda each: each.heap_bytes))
    last = snapshots[-1]
    at_peak, at_end = _stacks(peak, target), _stacks(last, target) if last is not peak else {}
    listed = []
    for stack in {**at_peak, **at_end}:
        # The end is unknown unless the last snapshot is the peak's: then it is the same.
        then, now = at_peak.get(stack, 0), at_end.get(stack, 0) if at_end else at_peak.get(stack, 0)
        first, second = Sum(min(then, 1), then), Sum(min(now, 1), now)
        both = first if first == second else Sum(0, 0)
        listed.append(
            StackSums(stack, Sum(first.blocks + second.blocks - both.blocks, then + now - both.bytes), first, second)
        )
    sums.write(target, listed)
    target.core.finish(0, True, 0)


def _stacks(snapshot: _Snapshot, target: Target) -> dict[int, int]:
    """Bytes by stack. A node's bytes that none of its branches has are its own."""
    found: dict[int, int] = {}
    path: list[tuple[int, int]] = []  # (row or -1, bytes left) from the root down
    rows: list[int] = []

    def close(depth: int) -> None:
        while len(path) > depth:
            _, left = path.pop()
            if left < 0:
                raise ValueError("branches have more bytes than their node")
            if left:
                stack = target.stack([row for row in rows[: len(path) + 1] if row >= 0])
                found[stack] = found.get(stack, 0) + left
            rows.pop()

    for line in snapshot.nodes:
        match = _NODE.fullmatch(line)
        assert match is not None
        indent, _, size, text = match.groups()
        depth, amount = len(indent), int(size)
        if depth > len(path) or depth > _DEEPEST:
            raise ValueError("a branch has no node above it")
        close(depth)
        if path:
            row, left = path[-1]
            path[-1] = (row, left - amount)
        row = _row(text, target)
        path.append((row, amount))
        rows.append(row)
    close(0)
    return found


def _row(text: str, target: Target) -> int:
    """-1: the root, or places below massif's threshold."""
    found = None if text.startswith(_ROOT) else frame_text.parsed(text)
    if found is None:
        return -1
    frame = (found.name, found.file, found.line)
    return target.row(target.file_named(found.module), found.address & 0xFFFFFFFFFFFF, [frame])
