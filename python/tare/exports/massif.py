"""massif's output: the heap over time, and the tree of calls at the peak or at the chosen time."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tare.exports.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.analysis.recording import Recording
    from tare.analysis.stacks import Tree
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_LEAST_SHARE = 0.01  # of the whole: smaller branches are joined, as massif does by default
_MOST_SNAPSHOTS = 100
_MS_NS = 1_000_000  # times are in milliseconds


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    process = recording.process
    recording.database.use("timeline")
    samples = Samples(recording, selection, with_tare=False, measures=["inuse_space"])
    tree = samples.stacks.tree(_text, outermost_first=False)
    for stacks, amounts in samples.of_measure("inuse_space"):
        tree.add(stacks, amounts)
    detailed_ns = selection.at_ns
    if detailed_ns is None:
        detailed_ns = process["peak_time_ns" if selection.at == "peak" else "duration_ns"] or 0
    name = "at" if selection.at_ns is not None else selection.at
    net, gross = process[f"{name}_requested_bytes"], process[f"{name}_gross_bytes"]
    rows = recording.database.rows("select time_ns, requested_bytes, gross_bytes from timeline order by time_ns")
    step = max(1, -(-len(rows) // (_MOST_SNAPSHOTS - 1)))
    taken = [(time, net, gross, False) for time, net, gross in rows[::step] if time != detailed_ns]
    taken.append((detailed_ns, net, gross, True))
    taken.sort()

    def line(text: str) -> None:
        out.write(text.encode("utf-8", "replace") + b"\n")

    line("desc: tare export --to massif")
    line(f"cmd: {process['command_line'].splitlines()[0] if process['command_line'] else process['program']}")
    line("time_unit: ms")
    for number, (time, net, gross, is_detailed) in enumerate(taken):
        line("#-----------")
        line(f"snapshot={number}")
        line("#-----------")
        line(f"time={time // _MS_NS}")
        line(f"mem_heap_B={round(net)}")
        line(f"mem_heap_extra_B={max(0, round(gross) - round(net))}")
        line("mem_stacks_B=0")
        if is_detailed:
            line(f"heap_tree={'peak' if selection.at == 'peak' else 'detailed'}")
            for each in _tree_lines(tree, round(net), round(gross)):
                line(each)
        else:
            line("heap_tree=empty")


def _tree_lines(tree: Tree[str], net: int, gross: int) -> Iterator[str]:
    """massif's tree has useful bytes alone: gross bytes are scaled to them, whole by whole."""
    sums, parents, frames = tree.whole_amounts, tree.parents, tree.frames
    least = max(1, int(_LEAST_SHARE * sums[0]))
    shown: dict[int, list[int]] = {}  # children by node, where large enough
    small: dict[int, tuple[int, int]] = {}  # count and sum of the others
    for node in range(1, len(sums)):
        parent = parents[node]
        if sums[node] >= least:
            shown.setdefault(parent, []).append(node)
        elif sums[parent] >= least:
            count, value = small.get(parent, (0, 0))
            small[parent] = (count + 1, value + sums[node])

    def scaled(value: int) -> int:
        return value * net // (gross or 1)

    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        if node < 0:  # joined branches of a node
            count, value = small[~node]
            yield f"{' ' * depth}n0: {scaled(value)} in {count} places, all below massif's threshold (1.00%)"
            continue
        below = sorted(shown.get(node, []), key=lambda each: (-sums[each], each))
        entries = len(below) + (node in small)
        heap = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
        yield f"{' ' * depth}n{entries}: {scaled(sums[node])} {tree.keys[frames[node]] if node else heap}"
        if node in small:
            stack.append((~node, depth + 1))
        stack.extend((each, depth + 1) for each in reversed(below))


def _text(frame: Frame) -> str:
    name = frame.name.replace("\n", " ")
    place = f"({frame.file.rpartition('/')[2]}:{frame.line})" if frame.line else f"(in {frame.module or '?'})"
    return f"{frame.address or frame.module_offset or 0:#x}: {name} {place}"
