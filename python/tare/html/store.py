"""The stacks of a recording as one tree of functions in preorder, with sums at its nodes, as compact bytes.

The layout, all numbers varints: length of a JSON header and the header; for each node but the root, how many levels it lies above a
child of the node before it, and its frame; for each measure, the number of its entries, and of each entry the distance from the node
of the one before and the value; the columns of `lives.py`; then of each leaf 1 plus the function that names its site (0: none is known); then
the number of inner nodes with such a function, and of each the distance from the one before and 1 plus the function; then the number of
nodes whose blocks have a known type, and of each the distance from the one before and 1 plus the type.
"""

from __future__ import annotations

import base64
import json
import zlib
from array import array
from collections import Counter
from itertools import compress, pairwise
from operator import gt, not_
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.html.lives import MOST_CELLS
from tare.html.varints import varints
from tare.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tare.html.lives import Lives
    from tare.naming.names import Frame, FrameTree

# Nodes above which the smallest subtrees are folded into their callers: 8 MB of JavaScript's arrays for each measure.
MOST_NODES = 400_000
# Characters of the packed store above which half of the nodes and of the cells are folded, and again. With them a page has 5 MB at most.
MOST_TEXT = 4_800_000
_LEAST_NODES = 1000


class Function(NamedTuple):
    """A box of the graphs: calls from several lines of a function are one."""

    name: str
    file: str
    module: str

    @staticmethod
    def of(frame: Frame) -> Function:
        return Function(frame.name, frame.file, frame.module)


class Measure(NamedTuple):
    """`key` is moment.quantity, such as peak.gross."""

    key: str
    label: str
    unit: str  # bytes, blocks or byte-seconds
    query: str  # the command that gives the sum
    quantity: str = ""  # not stored, but the sum of this column of `lifetimes` at the moment

    def of_lives(self, quantities: Mapping[str, str]) -> Measure:
        return self._replace(quantity=quantities.get(self.key, ""))


class StackTree:
    """A tree of functions whose nodes have sums. Parents come before their children."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = list(measures)
        self.functions: dict[Function, int] = {}
        self.sites: dict[int, Function] = {}  # by node of a stack: the function that names its site
        self.types: dict[int, str] = {}  # by node of a stack: the type of its blocks
        self.wrappers: set[Function] = set()  # of the allocator: the functions that call them name the site
        self._parent = array("I", [0])
        self._frame = array("I", [0])
        self._order: Sequence[int] | None = None  # in preorder, where it is known
        self._children: dict[tuple[int, int], int] = {}  # by parent and function; filled when a second tree is merged
        self._sums: list[dict[int, int]] = [{} for _ in measures]
        self.folded = 0
        self.lives: Lives | None = None

    def function(self, frame: Frame) -> int:
        return self.functions.setdefault(Function.of(frame), len(self.functions))

    def merge(self, tree: FrameTree) -> Sequence[int]:
        """Of a tree of functions' numbers: the node here of each of its nodes."""
        parents, frames = array("I", tree.parents()), array("I", tree.frames())
        if len(self._parent) == 1:
            self._parent, self._frame, self._order = parents, frames, array("I", tree.depth_first())
            return range(len(parents))
        if not self._children:
            self._children = {(self._parent[node], self._frame[node]): node for node in range(1, len(self._parent))}
        self._order = None
        place = [0] * len(parents)
        for node in range(1, len(parents)):
            key = (place[parents[node]], frames[node])
            found = self._children.setdefault(key, len(self._parent))
            if found == len(self._parent):
                self._parent.append(key[0])
                self._frame.append(key[1])
            place[node] = found
        return place

    def split(self, nodes: Sequence[int]) -> list[int]:
        """A second node without callees beside each: the same function, for stacks whose blocks have another type."""
        order = list(self._order if self._order is not None else _depth_first(self._parent))
        made = list(range(len(self._parent), len(self._parent) + len(nodes)))
        before: dict[int, list[int]] = {}
        for node, new in zip(nodes, made, strict=True):
            self._parent.append(self._parent[node])
            self._frame.append(self._frame[node])
            before.setdefault(node, []).append(new)
        self._order = [each for node in order for each in (*before.get(node, ()), node)]
        return made

    def add(self, node: int, measure: int, value: int) -> None:
        if value:
            sums = self._sums[measure]
            sums[node] = sums.get(node, 0) + value

    def add_all(self, measure: int, nodes: Iterable[int], values: Iterable[int]) -> None:
        sums = self._sums[measure]
        for node, value in zip(nodes, values, strict=True):
            if value:
                sums[node] = sums.get(node, 0) + value

    def total(self, measure: int) -> int:
        return sum(self._sums[measure].values())

    def encode(
        self,
        is_own: Mapping[Function, bool],
        facts: Mapping[str, Any],
        most: int = MOST_NODES,
        most_text: int = MOST_TEXT,
    ) -> str:
        """Deflated bytes as text of `packed`."""
        text = self._encode(is_own, facts, most, MOST_CELLS)
        nodes = min(most, len(self._parent))
        cells = MOST_CELLS
        while len(text) > most_text and nodes > _LEAST_NODES:
            nodes //= 2
            cells //= 2
            text = self._encode(is_own, facts, nodes, cells)
        return text

    def _encode(self, is_own: Mapping[Function, bool], facts: Mapping[str, Any], most: int, most_cells: int) -> str:
        order, depths, place = self._preorder(most)
        named = [tuple(map(printable, function)) for function in self.functions]
        # Of folded boxes none is written. Sorted names share beginnings, and their numbers are distances of 0 or 1.
        kept = range(len(named)) if not self.folded else {self._frame[node] for node in order[1:]}
        by_name = sorted(kept, key=named.__getitem__)
        place_of = [0] * len(named)
        for number, function in enumerate(by_name):
            place_of[function] = number
        frames = [place_of[frame] for frame in self._frame] if named else self._frame
        every = list(self.functions)
        functions = [every[each] for each in by_name]
        strings = {text: at for at, text in enumerate(sorted({text for each in by_name for text in named[each]}))}
        names, files, modules = ([strings[named[each][column]] for each in by_name] for column in range(3))
        timed, lives = self.lives.encode(place, most_cells) if self.lives else ({"cells": 0}, b"")
        header = {
            **{key: printable(value) if isinstance(value, str) else value for key, value in facts.items()},
            **timed,
            "folded": self.folded,
            "nodes": len(order),
            "measures": [list(map(printable, each)) for each in self.measures],
            "functions": [[after - before for before, after in pairwise([0, *names])], files, modules],
            "types": sorted({*map(printable, self.types.values())}),
            "wrappers": [number for number, function in enumerate(functions) if function in self.wrappers],
            "own": [int(is_own.get(function, True)) for function in functions],
            "strings": list(strings),
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        parts = [varints([len(text)]), text, _nodes(order, depths, frames)]
        for measure, sums in zip(self.measures, self._sums, strict=True):
            if measure.quantity:
                continue
            placed: dict[int, int] = {}
            for node, value in sums.items():
                at = place[node]
                placed[at] = placed.get(at, 0) + value
            entries = [len(placed)]
            last = 0
            for at in sorted(placed):
                entries += (at - last, placed[at])
                last = at
            parts.append(varints(entries))
        parts += [lives, self._naming(depths, place, functions), self._typing(place)]
        return packed(zlib.compress(b"".join(parts), 9))

    def _naming(self, depths: Sequence[int], place: Sequence[int], functions: Sequence[Function]) -> bytes:
        number = {function: 1 + at for at, function in enumerate(functions)}
        named = [0] * len(depths)
        for node, function in self.sites.items():
            at = place[node]
            named[at] = named[at] or number.get(function, 0)
        is_inner = list(map(gt, [*depths[1:], 0], depths))
        leaves = compress(named, map(not_, is_inner))
        inner = [at for at in compress(range(len(named)), is_inner) if named[at]]
        out = [*leaves, len(inner)]
        for before, at in pairwise([0, *inner]):
            out += (at - before, named[at])
        return varints(out)

    def _typing(self, place: Sequence[int]) -> bytes:
        """Not of boxes that others are folded into: they have blocks of several types."""
        number = {text: 1 + at for at, text in enumerate(sorted({*map(printable, self.types.values())}))}
        alone = Counter(place) if self.folded and self.types else None
        typed = sorted(
            (place[node], number[printable(text)])
            for node, text in self.types.items()
            if alone is None or alone[place[node]] == 1
        )
        out, last = [len(typed)], 0
        for at, type_ in typed:
            out += (at - last, type_)
            last = at
        return varints(out)

    def _preorder(self, most: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Kept nodes with their depths, and for each node the place of the kept one that has its sums."""
        kept = self._kept(most)
        parent = self._parent
        place = [0] * len(parent)
        depth_of = [0] * len(parent)  # among kept nodes
        order = self._order if self._order is not None else _depth_first(parent)
        if kept is not None:
            order = [node for node in order if kept[node]]
        for at, node in enumerate(order):
            place[node] = at
        for node in range(1, len(parent)):
            above = parent[node]
            if kept is None or kept[node]:
                depth_of[node] = depth_of[above] + 1  # a kept node's parent is kept, too
            else:
                place[node] = place[above]
        self.folded = len(parent) - len(order)
        return order, [depth_of[node] for node in order], place

    def _kept(self, most: int) -> bytearray | None:
        """The `most` heaviest nodes by the sum of their shares of all measures; None: all. A caller weighs no less than its callees."""
        count = len(self._frame)
        if count <= most:
            return None
        weights = [0.0] * count
        for number, sums in enumerate(self._sums):
            whole = self.total(number) or 1
            for node, value in sums.items():
                weights[node] += value / whole
        for node, blocks in self.lives.blocks_by_node() if self.lives else ():
            weights[node] += blocks
        for node in range(count - 1, 0, -1):
            weights[self._parent[node]] += weights[node]
        kept = bytearray(count)
        # The order of making breaks ties, so that a parent stays if its child does.
        for node in sorted(range(count), key=lambda node: (-weights[node], node))[:most]:
            kept[node] = 1
        return kept


def packed(data: bytes) -> str:
    """Five characters for four bytes, where base64 takes 5.33. No `<`, so that the text can't end its element."""
    return base64.b85encode(data).replace(b"<", b",").decode()


def _nodes(order: Sequence[int], depths: Sequence[int], frames: Sequence[int]) -> bytes:
    numbers = array("Q", bytes(16 * (len(order) - 1)))
    numbers[0::2] = array("Q", [above + 1 - depth for above, depth in pairwise(depths)])
    numbers[1::2] = array("Q", [frames[node] for node in order[1:]])
    return varints(numbers)


def _depth_first(parent: Sequence[int]) -> Sequence[int]:
    """All nodes, each before its children, children in their order."""
    first, following = [0] * len(parent), [0] * len(parent)
    for node in range(len(parent) - 1, 0, -1):
        following[node] = first[parent[node]]
        first[parent[node]] = node
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if following[node]:
            waiting.append(following[node])
        if first[node]:
            waiting.append(first[node])
    return order
