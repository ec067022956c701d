"""The core's sums over many stacks, in plain Python: for recordings built by hand, and to compare the core with."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from tare.exports.wire import data, packed


class Texts:
    def __init__(self, rows_of: Callable[[int], list[int]], outermost_first: bool, separator: bytes) -> None:
        self._rows_of, self._outermost_first, self._separator = rows_of, outermost_first, separator
        self._names: dict[int, tuple[bytes, bytes]] = {}

    def name(self, location_id: int, text: bytes, innermost: bytes) -> None:
        self._names[location_id] = (text, innermost)

    def of(self, stack_ids: list[int]) -> list[bytes]:
        texts = []
        for stack_id in stack_ids:
            parts = [self._names[row][at == 0] for at, row in enumerate(self._rows_of(stack_id)) if row in self._names]
            texts.append(self._separator.join(parts[::-1] if self._outermost_first else parts))
        return texts

    def distinct(self, stack_ids: list[int]) -> tuple[bytes, list[int]]:
        points: dict[bytes, int] = {}
        firsts: list[int] = []
        places = array("I")
        for stack_id, text in zip(stack_ids, self.of(stack_ids), strict=True):
            if text not in points:
                firsts.append(stack_id)
            places.append(points.setdefault(text, len(points)))
        return places.tobytes(), firsts

    def messages(self, stack_ids: list[int], fields: list[int]) -> bytes:
        found = []
        for text in self.of(stack_ids):
            for field in fields[::-1]:
                text = data(field, text)
            found.append(text)
        return b"".join(found)

    def write_rows(
        self,
        stack_ids: list[int],
        columns: list[tuple[bytes, bytes]],
        rests: list[bytes],
        before: bytes,
        after: bytes,
        write: Callable[[bytes], object],
    ) -> None:
        numbers = [(name, memoryview(each).cast("q")) for name, each in columns]
        for row, text in enumerate(self.of(stack_ids)):
            head = b"".join(b"%b%d" % (name, each[row]) for name, each in numbers)
            write(b"," * (row > 0) + head + (rests[row] if rests else b"") + before + text + after)

    def samples(self, field: int, stack_ids: list[int], columns: list[bytes], rests: list[bytes]) -> bytes:
        numbers = zip(*(memoryview(column).cast("q") for column in columns), strict=True)
        return b"".join(
            data(field, data(1, text) + packed(2, row) + rest)
            for text, row, rest in zip(self.of(stack_ids), numbers, rests, strict=True)
        )


class Tree:
    def __init__(self, rows_of: Callable[[int], list[int]], outermost_first: bool) -> None:
        self._rows_of, self._outermost_first = rows_of, outermost_first
        self._names: dict[int, tuple[list[int], list[int]]] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._parents, self._frames, self._amounts = [0], [0], [0]

    def name(self, location_id: int, frames: list[int], innermost: list[int]) -> None:
        self._names[location_id] = (frames, innermost)

    def add(self, stack_ids: list[int], amounts: list[int]) -> bytes:
        found = array("I")
        for stack_id, amount in zip(stack_ids, amounts, strict=True):
            frames = [f for at, row in enumerate(self._rows_of(stack_id)) for f in self._names[row][at == 0]]
            node = 0
            for frame in frames[::-1] if self._outermost_first else frames:
                if (node, frame) not in self._nodes:
                    self._nodes[node, frame] = len(self._parents)
                    self._parents.append(node)
                    self._frames.append(frame)
                    self._amounts.append(0)
                node = self._nodes[node, frame]
            self._amounts[node] += amount
            found.append(node)
        return found.tobytes()

    def parents(self) -> bytes:
        return array("I", self._parents).tobytes()

    def frames(self) -> bytes:
        return array("I", self._frames).tobytes()

    def amounts(self) -> bytes:
        return array("q", self._amounts).tobytes()

    def whole_amounts(self) -> bytes:
        whole = list(self._amounts)
        for node in range(len(whole) - 1, 0, -1):
            whole[self._parents[node]] += whole[node]
        return array("q", whole).tobytes()

    def large_branches(
        self, stack_ids: list[int], amounts: list[int], least: int
    ) -> list[tuple[int, int, int, int, int]]:
        self.add(stack_ids, amounts)
        whole = memoryview(self.whole_amounts()).cast("q")
        large = [node for node in range(len(whole)) if node == 0 or whole[node] >= least]
        small = [node for node in range(1, len(whole)) if whole[node] < least]
        found = []
        for node in large:
            below = [whole[each] for each in small if self._parents[each] == node]
            place = large.index(self._parents[node])
            found.append((whole[node], sum(below), len(below), place, self._frames[node]))
        return found

    def depth_first(self) -> bytes:
        order, waiting = array("I"), [0]
        while waiting:
            order.append(node := waiting.pop())
            waiting += [each for each in range(len(self._parents) - 1, 0, -1) if self._parents[each] == node]
        return order.tobytes()

    def write_folded(self, names: list[bytes], unknown: bytes, write: Callable[[bytes], object]) -> None:
        for node in memoryview(self.depth_first()).cast("I"):
            path, at = [], node
            while at:
                path.append(names[self._frames[at]])
                at = self._parents[at]
            if self._amounts[node]:
                write(b"%b %d\n" % (b";".join(path[::-1]) or unknown, self._amounts[node]))

    def write_nested(self, heads: list[bytes], root_head: bytes, write: Callable[[bytes], object]) -> None:
        below: dict[int, bytes] = {}  # the children's texts, by node
        for node in range(len(self._parents) - 1, -1, -1):
            head = heads[self._frames[node]] if node else root_head
            text = b'%b,"selfSize":%d,"id":%d,"children":[%b]}' % (
                head,
                self._amounts[node],
                node + 1,
                below.pop(node, b""),
            )
            if node == 0:
                write(text)
            elif (parent := self._parents[node]) in below:
                below[parent] = text + b"," + below[parent]
            else:
                below[parent] = text
