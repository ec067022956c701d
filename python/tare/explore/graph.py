"""Stacks as a tree that is made where it is looked at: from callers down, or from allocating functions up."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from tare.naming.own_code import is_own

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame


class Sums(NamedTuple):
    """An amount, and the same of the baseline."""

    now: float = 0.0
    before: float = 0.0

    def plus(self, other: Sums) -> Sums:
        return Sums(self.now + other.now, self.before + other.before)


class Box:
    """A function below a path of functions. Its nodes are those of the tree that it stands for."""

    def __init__(self, function: int, parent: Box | None) -> None:
        self.function = function  # -1: everything
        self.parent = parent
        self.sums = Sums()
        self.nodes: dict[int, Sums] = {}  # going up, with the amount that came through them
        self._made: list[Box] | None = None

    def put(self, node: int, sums: Sums) -> None:
        self.nodes[node] = self.nodes.get(node, Sums()).plus(sums)
        self.sums = self.sums.plus(sums)


class StackTree:
    """The stacks of a recording, and of its baseline, as nodes of frames. Parents come before their children."""

    def __init__(self) -> None:
        self.parents: list[int] = [0]
        self.frames: list[int] = [-1]  # by node
        self.known: list[Frame] = []
        self.is_wrapper: list[bool] = []  # by frame: an allocation wrapper, such as operator new
        self.function_of: list[int] = []  # by frame: calls from several lines of a function are one function
        self.functions: list[Frame] = []
        self.own: list[bool] = []  # by function
        self._frame_numbers: dict[object, int] = {}
        self._function_numbers: dict[tuple[str, str, str], int] = {}
        self._children: dict[tuple[int, int], int] | None = None

    def add(self, recording: Recording, stack_ids: list[int], *, moved: bool) -> dict[int, int]:
        """The node of each stack. `moved`: frames of another build are the same without folders, lines and offsets."""
        source, names = recording.source, recording.names
        rows = source.rows_of_stacks(stack_ids)
        names.prepare(rows)
        tree = source.frame_tree(True)
        executable = recording.process["exe"]
        for row in rows:
            every = [self._number(frame, executable, moved, frame in names.wrappers) for frame in names.frames(row)]
            tree.name(row, every, every[len(every) - len(names.callers(row)) :])
        nodes = array("I", tree.add(stack_ids, [0] * len(stack_ids)))
        parents, frames = array("I", tree.parents()), array("I", tree.frames())
        if len(self.parents) == 1 and not moved:
            self.parents, self.frames = list(parents), [-1, *frames[1:]]
            return dict(zip(stack_ids, nodes, strict=True))
        if self._children is None:
            self._children = {(self.parents[n], self.frames[n]): n for n in range(1, len(self.parents))}
        place = [0] * len(parents)
        for node in range(1, len(parents)):
            key = (place[parents[node]], frames[node])
            found = self._children.get(key)
            if found is None:
                found = self._children[key] = len(self.parents)
                self.parents.append(key[0])
                self.frames.append(key[1])
            place[node] = found
        return dict(zip(stack_ids, (place[node] for node in nodes), strict=True))

    def naming(self, node: int) -> int:
        """The node that names the site of a stack: the innermost one that is no wrapper."""
        at = node
        while at and self.is_wrapper[self.frames[at]]:
            at = self.parents[at]
        return at or node

    def _number(self, frame: Frame, executable: str, moved: bool, is_wrapper: bool) -> int:
        function = (frame.name, frame.file, frame.module)
        if moved:
            base = frame.module.rpartition("/")[2]
            function = (frame.function, frame.file.rpartition("/")[2], "") if frame.function else (f"?{base}", "", base)
        key: object = function if moved else (function, frame.line)
        number = self._frame_numbers.get(key)
        if number is None:
            of = self._function_numbers.setdefault(function, len(self.functions))
            if of == len(self.functions):
                self.functions.append(frame)
                self.own.append(is_own(executable, frame.module, frame.file, frame.name))
            number = self._frame_numbers[key] = len(self.known)
            self.known.append(frame)
            self.is_wrapper.append(is_wrapper)
            self.function_of.append(of)
        return number


class Graph:
    """One view of the tree. Boxes below a box are made when they are first needed, those with the largest sums first."""

    def __init__(self, tree: StackTree, sums: Mapping[int, Sums], *, up: bool, own_only: bool) -> None:
        """`sums`: of nodes themselves, without those below."""
        self._tree = tree
        self.up = up
        count = len(tree.parents)
        self._whole = [Sums()] * count
        for node, amount in sums.items():
            self._whole[node] = amount
        for node in range(count - 1, 0, -1):
            if self._whole[node] != (0.0, 0.0):
                parent = tree.parents[node]
                self._whole[parent] = self._whole[parent].plus(self._whole[node])
        self._holder = list(range(count))  # the node itself, or its nearest own caller
        self._callees: dict[int, list[int]] = {}
        for node in range(1, count):
            above = self._holder[tree.parents[node]]
            if own_only and not tree.own[self.function(node)]:
                self._holder[node] = above
            elif self._whole[node] != (0.0, 0.0):
                self._callees.setdefault(above, []).append(node)
        self._own_only = own_only
        self.root = Box(-1, None)
        if up:
            groups: dict[int, Box] = {}
            for node, amount in sums.items():
                self._group(groups, self.root, self._holder[tree.naming(node)], amount)
            self.root.sums = self._whole[0]
            self.root._made = _sorted(groups)
        else:
            self.root.put(0, self._whole[0])

    def function(self, node: int) -> int:
        return self._tree.function_of[self._tree.frames[node]] if node else -1

    def frame(self, box: Box) -> Frame | None:
        """Its function, with the line that the largest amount came through; None: the root, or foreign code only."""
        if box.function < 0:
            return None
        node = max(box.nodes, key=lambda each: (abs(box.nodes[each].now), -each))
        return self._tree.known[self._tree.frames[node]]

    def name(self, box: Box) -> str:
        if box.function >= 0:
            return self._tree.functions[box.function].name
        if box.parent:
            return "(foreign code only)"
        return "all allocating functions" if self.up else "whole heap"

    def below(self, box: Box) -> list[Box]:
        if box._made is None:
            groups: dict[int, Box] = {}
            if self.up:
                for node, amount in box.nodes.items():
                    caller = self._holder[self._tree.parents[node]] if node else 0
                    if caller:
                        self._group(groups, box, caller, amount)
            else:
                for node in box.nodes:
                    for callee in self._callees.get(node, ()):
                        self._group(groups, box, callee, self._whole[callee])
            box._made = _sorted(groups)
        return box._made

    def _group(self, groups: dict[int, Box], parent: Box, node: int, amount: Sums) -> None:
        function = self.function(node)
        if function not in groups:
            groups[function] = Box(function, parent)
        groups[function].put(node, amount)

    def matching(self, expression: re.Pattern[str], sums: Mapping[int, Sums]) -> tuple[set[int], float]:
        """Functions that match, and the sum of stacks with one of them."""
        hit = {number for number, frame in enumerate(self._tree.functions) if matches(expression, frame)}
        inside = bytearray(len(self._tree.parents))
        for node in range(1, len(inside)):
            inside[node] = inside[self._tree.parents[node]] or self.function(node) in hit
        return hit, sum(amount.now for node, amount in sums.items() if inside[node])

    def path_to(self, functions: set[int], after: Box | None = None) -> Box | None:
        """The next box with one of these functions, the heaviest first, breadth before depth; `after`: the one found before."""
        seen_after = after is None
        level = [self.root]
        left = _MOST_SEARCHED
        while level and left > 0:
            below: list[Box] = []
            for box in level:
                for each in self.below(box):
                    left -= 1
                    if each.function in functions:
                        if seen_after:
                            return each
                        seen_after = each is after
                    below.append(each)
            level = below
        return None


_MOST_SEARCHED = 200_000  # boxes: a second


def matches(expression: re.Pattern[str], frame: Frame) -> bool:
    return any(map(expression.search, (frame.name, frame.file, frame.module)))


def _sorted(groups: Mapping[int, Box]) -> list[Box]:
    """In a comparison the largest change first."""
    boxes: Iterable[Box] = groups.values()
    if any(box.sums.before for box in boxes):
        return sorted(groups.values(), key=lambda box: (-abs(box.sums.now - box.sums.before), box.function))
    return sorted(groups.values(), key=lambda box: (-box.sums.now, box.function))
