"""massif's output: the heap over time, and the tree of calls at the peak or at the chosen time."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from tare.exports.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.recording import Recording
    from tare.analysis.stacks import Branch
    from tare.exports.selection import Selection
    from tare.naming.names import Frame

_LEAST_SHARE = 0.01  # of the whole: smaller branches are joined, as massif does by default
_MOST_SNAPSHOTS = 100
_MS_NS = 1_000_000  # times are in milliseconds


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    process = recording.process
    recording.database.use("timeline")
    samples = Samples(recording, selection, with_tare=False)
    tree = samples.stacks.tree(_text, outermost_first=False)
    stacks, amounts = samples.of_measure("inuse_space")
    branches = tree.large_branches(stacks, amounts, max(1, int(_LEAST_SHARE * sum(amounts))))
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
            for each in _tree_lines(branches, tree.keys, round(net), round(gross)):
                line(each)
        else:
            line("heap_tree=empty")


def _tree_lines(branches: Sequence[Branch], names: Sequence[str], net: int, gross: int) -> Iterator[str]:
    """massif's tree has useful bytes alone: gross bytes are scaled to them, whole by whole."""
    shown: dict[int, list[int]] = {}  # children by branch
    for number, branch in enumerate(branches[1:], 1):
        shown.setdefault(branch.parent, []).append(number)

    def scaled(value: int) -> int:
        return value * net // (gross or 1)

    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        if node < 0:  # joined branches of a node
            branch = branches[~node]
            yield (
                f"{' ' * depth}n0: {scaled(branch.small_amount)} in {branch.small_branches} places, all below massif's"
                " threshold (1.00%)"
            )
            continue
        branch = branches[node]
        below = sorted(shown.get(node, []), key=lambda each: (-branches[each].amount, each))
        entries = len(below) + (branch.small_branches > 0)
        heap = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
        yield f"{' ' * depth}n{entries}: {scaled(branch.amount)} {names[branch.frame] if node else heap}"
        if branch.small_branches:
            stack.append((~node, depth + 1))
        stack.extend((each, depth + 1) for each in reversed(below))


def _text(frame: Frame) -> str:
    name = frame.name.replace("\n", " ")
    place = f"({frame.file.rpartition('/')[2]}:{frame.line})" if frame.line else f"(in {frame.module or '?'})"
    return f"{frame.address or frame.module_offset or 0:#x}: {name} {place}"
