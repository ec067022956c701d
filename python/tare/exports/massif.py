"""massif's output: the heap over time, and the tree of calls at the peak."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tare.exports.samples import Tree, frames_of, prepare_names, samples

if TYPE_CHECKING:
    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_LEAST_SHARE = 0.01  # of the peak: smaller branches are joined, as massif does by default
_MOST_SNAPSHOTS = 100
_MS_NS = 1_000_000  # times are in milliseconds


def write(recording: Recording, out: IO[bytes]) -> None:
    process, peak = recording.process, recording.moments["peak"]
    recording.database.use("timeline")
    found = [sample for sample in samples(recording) if sample.peak_bytes]
    prepare_names(recording, found)
    tree = Tree()
    for sample in found:
        tree.add(list(reversed(frames_of(recording, sample.stack_id))), sample.peak_bytes)  # innermost at the root
    rows = recording.database.rows("select time_ns, requested_bytes, gross_bytes from timeline order by time_ns")
    step = max(1, -(-len(rows) // (_MOST_SNAPSHOTS - 1)))
    peak_ns = process["peak_time_ns"] or 0
    taken = [(time, net, gross, False) for time, net, gross in rows[::step] if time != peak_ns]
    taken.append((peak_ns, peak.requested_bytes, sum(sample.peak_bytes for sample in found), True))
    taken.sort()

    def line(text: str) -> None:
        out.write(text.encode("utf-8", "replace") + b"\n")

    line("desc: tare export --to massif")
    line(f"cmd: {process['command_line'].splitlines()[0] if process['command_line'] else process['program']}")
    line("time_unit: ms")
    for number, (time, net, gross, is_peak) in enumerate(taken):
        line("#-----------")
        line(f"snapshot={number}")
        line("#-----------")
        line(f"time={time // _MS_NS}")
        line(f"mem_heap_B={round(net)}")
        line(f"mem_heap_extra_B={max(0, round(gross) - round(net))}")
        line("mem_stacks_B=0")
        if is_peak:
            line("heap_tree=peak")
            for each in _tree_lines(tree, round(net), max(0, round(gross) - round(net))):
                line(each)
        else:
            line("heap_tree=empty")


def _tree_lines(tree: Tree, net: int, extra: int) -> list[str]:
    """massif's tree has useful bytes alone: gross bytes are scaled to them, whole by whole."""
    sums = list(tree.values)
    for node in reversed(range(len(sums))):
        sums[node] += sum(sums[below] for below in tree.below(node))
    whole = sums[0] or 1
    least = int(_LEAST_SHARE * whole)
    lines: list[str] = []

    def scaled(value: int) -> int:
        return value * net // whole

    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        if node < 0:  # joined branches
            count, value = divmod(-node, 1 << 64)
            lines.append(f"{' ' * depth}n0: {scaled(value)} in {count} places, all below massif's threshold (1.00%)")
            continue
        below = sorted(tree.below(node), key=lambda each: -sums[each])
        shown = [each for each in below if sums[each] >= least]
        small = [each for each in below if sums[each] < least]
        entries = len(shown) + bool(small)
        name = (
            "(heap allocation functions) malloc/new/new[], --alloc-fns, etc." if node == 0 else _text(tree.frames[node])
        )
        lines.append(f"{' ' * depth}n{entries}: {scaled(sums[node])} {name}")
        if small:
            stack.append((-((len(small) << 64) + sum(sums[each] for each in small)), depth + 1))
        stack.extend((each, depth + 1) for each in reversed(shown))
    return lines


def _text(frame: Frame | None) -> str:
    if frame is None:
        return "?"
    name = frame.name.replace("\n", " ")
    place = f"({frame.file.rpartition('/')[2]}:{frame.line})" if frame.line else f"(in {frame.module or '?'})"
    return f"{frame.module_offset or 0:#x}: {name} {place}"
