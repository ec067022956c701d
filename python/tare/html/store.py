"""The stacks of a recording as one tree of functions in preorder, with sums at its nodes, as compact bytes.

The layout, all numbers varints: length of a JSON header and the header; for each node but the root, how many levels it lies above a
child of the node before it, and its frame; for each measure, the number of its entries, and of each entry the distance from the node
of the one before and the value; then the columns of `lives.py`.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.html.varints import put
from tare.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tare.html.lives import Lives
    from tare.naming.names import Frame

# Nodes above which the smallest subtrees are folded into their callers: 8 MB of JavaScript's arrays for each measure.
MOST_NODES = 400_000


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
    """Sums are added to stacks; the tree grows with them."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = list(measures)
        self.functions: dict[Function, int] = {}
        self._children: list[dict[int, int]] = [{}]
        self._frame = [0]
        self._parent = [0]
        self._sums: list[dict[int, int]] = [{} for _ in measures]
        self.folded = 0
        self.lives: Lives | None = None

    def node(self, at: int, frames: Iterable[Frame]) -> int:
        """The node of frames below another, outermost first; 0 is the root."""
        return self.node_of(at, map(self.function, frames))

    def function(self, frame: Frame) -> int:
        return self.functions.setdefault(Function.of(frame), len(self.functions))

    def node_of(self, at: int, functions: Iterable[int]) -> int:
        """The same of functions that were looked up: a return address is looked up once, and has many callers."""
        for function in functions:
            below = self._children[at].get(function)
            if below is None:
                below = len(self._frame)
                self._children[at][function] = below
                self._frame.append(function)
                self._parent.append(at)
                self._children.append({})
            at = below
        return at

    def add(self, node: int, measure: int, value: int) -> None:
        if value:
            sums = self._sums[measure]
            sums[node] = sums.get(node, 0) + value

    def total(self, measure: int) -> int:
        return sum(self._sums[measure].values())

    def encode(self, is_own: Mapping[Function, bool], facts: Mapping[str, Any], most: int = MOST_NODES) -> str:
        """Base64 of deflated bytes."""
        order, depths, place = self._preorder(most)
        strings: dict[str, int] = {}
        timed, lives = self.lives.encode(place) if self.lives else ({"cells": 0}, b"")
        header = {
            **facts,
            **timed,
            "folded": self.folded,
            "nodes": len(order),
            "measures": [list(each) for each in self.measures],
            "functions": [
                strings.setdefault(printable(text), len(strings))
                for function in self.functions
                for text in (function.name, function.file, function.module)
            ],
            "own": [int(is_own.get(function, True)) for function in self.functions],
            "strings": list(strings),
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        out = bytearray()
        put(out, len(text))
        out += text
        before = 0
        for node, depth in zip(order[1:], depths[1:], strict=True):
            put(out, before + 1 - depth)
            before = depth
            put(out, self._frame[node])
        for measure, sums in zip(self.measures, self._sums, strict=True):
            if measure.quantity:
                continue
            placed: dict[int, int] = {}
            for node, value in sums.items():
                placed[place[node]] = placed.get(place[node], 0) + value
            put(out, len(placed))
            last = 0
            for at in sorted(placed):
                put(out, at - last)
                put(out, placed[at])
                last = at
        out += lives
        return base64.b64encode(zlib.compress(bytes(out))).decode()

    def _preorder(self, most: int) -> tuple[list[int], list[int], list[int]]:
        """Kept nodes with their depths, and for each node the place of the kept one that has its sums."""
        kept = self._kept(most)
        order: list[int] = []
        depths: list[int] = []
        place = [0] * len(self._frame)
        waiting = [(0, 0, 0)]
        while waiting:
            node, depth, above = waiting.pop()
            if kept is None or node in kept:
                above = len(order)
                order.append(node)
                depths.append(depth)
            place[node] = above
            waiting.extend((below, depth + 1, above) for below in reversed(self._children[node].values()))
        self.folded = len(self._frame) - len(order)
        return order, depths, place

    def _kept(self, most: int) -> set[int] | None:
        """The `most` heaviest nodes by the sum of their shares of all measures; None: all. A caller weighs no less than its callees."""
        if len(self._frame) <= most:
            return None
        weights = [0.0] * len(self._frame)
        for number, sums in enumerate(self._sums):
            whole = self.total(number) or 1
            for node, value in sums.items():
                weights[node] += value / whole
        for node in range(len(weights) - 1, 0, -1):  # children were made after their parents
            weights[self._parent[node]] += weights[node]
        # The order of making breaks ties, so that a parent stays if its child does.
        return set(sorted(range(len(weights)), key=lambda node: (-weights[node], node))[:most])
