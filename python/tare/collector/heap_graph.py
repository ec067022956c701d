"""A collected heap's objects and references, from a file of tare/gc/heap_graph.h: the bytes that each object keeps alive.

Dominators by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001): an object is dominated by the objects on
every way to it from a root. An object's death frees the objects that it dominates.
"""

from __future__ import annotations

import struct
import sys
from array import array
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tare.errors import CORRUPT, IO, NOT_A_TRACE, TareError
from tare.naming.cpp_names import without_versions

_HEADER = struct.Struct("<8s7Q")
_MAGIC = b"TAREGCG1"
_CROSS_THREAD = 1 << 31
_MOST_NODES = 1 << 31
_NO_PLACE = 0xFFFFFFFF


class Place(NamedTuple):
    """A line of the source that made roots."""

    file: str
    line: int
    function: str
    roots: int


class Graph(NamedTuple):
    """The contents of the file; node numbers are below len(type_of).

    After the objects, each place where roots were made is a node, too: of no bytes, a root itself, and with edges to the
    targets of its roots. So the objects that it keeps alive, and the ways that begin there, are found as for objects. Its
    type's name is FILE:LINE.
    """

    type_of: array[int]
    granule_of: array[int]  # rising
    bytes_of: array[int]
    names: list[str]  # of types
    roots: array[int]
    cross_roots: array[int]
    edge_end: array[int]
    edge_to: array[int]
    places: list[Place]
    root_count: int

    @property
    def objects(self) -> int:
        return len(self.type_of) - len(self.places)

    def targets(self, node: int) -> array[int]:
        return self.edge_to[self.edge_end[node - 1] if node else 0 : self.edge_end[node]]


class Tree(NamedTuple):
    """The dominator of each node. `parent` and `retained_bytes` have one more entry, for all roots together."""

    parent: array[int]  # of a node that no root leads to: itself
    retained_bytes: list[int]
    reached: int  # objects that a root leads to
    order: array[int]  # those, each after its dominator


class _Reader:
    """Takes arrays from the bytes, one after the other, and no byte that isn't there."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.data, self.at = path, data, _HEADER.size

    def bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise TareError(
                CORRUPT, f"{self.path}: the file is cut: its header announces more than {len(self.data)} bytes"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, kind: str, count: int) -> array[int]:
        numbers = array(kind)
        numbers.frombytes(self.bytes(count * numbers.itemsize))
        if sys.byteorder != "little":
            numbers.byteswap()
        return numbers


def read_graph(path: str | Path) -> Graph:
    """Checks all values in the bytes: nothing in a Graph points outside of it."""
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TareError(IO, f"{name}: {error.strerror}") from error
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise TareError(NOT_A_TRACE, f"{name}: not a graph of tare::gc::write_graph()")
    _, nodes, edges, roots, types, name_bytes, _, place_count = _HEADER.unpack_from(data)
    if max(nodes, edges, roots, types, name_bytes, place_count) > len(data) or nodes >= _MOST_NODES:
        raise TareError(CORRUPT, f"{name}: the file is cut: its header announces more than {len(data)} bytes")
    reader = _Reader(name, data)
    type_of, granule_of, bytes_of = (reader.numbers(kind, nodes) for kind in "IIQ")
    name_end = reader.numbers("I", types)
    text = reader.bytes(name_bytes)
    reader.bytes(-(name_bytes + 4 * types) % 8)
    root_of = reader.numbers("I", roots)
    edge_end, edge_to = reader.numbers("I", nodes), reader.numbers("I", edges)
    place_of = reader.numbers("I", roots) if place_count else array("I")
    line_of, text_end = reader.numbers("I", place_count), reader.numbers("I", 2 * place_count)
    texts = reader.bytes(text_end[-1] if text_end else 0)
    if reader.at != len(data):
        raise TareError(CORRUPT, f"{name}: has {len(data) - reader.at} bytes more than its header announces")

    def check(holds: bool, what: str) -> None:
        if not holds:
            raise TareError(CORRUPT, f"{name}: {what}")

    check(not nodes or max(type_of) < types, "an object has a type that isn't there")
    check(
        all(a < b for a, b in pairwise(granule_of)),
        "objects aren't in the order of their places",
    )
    check(_rises_to(name_end, name_bytes), "names of types overlap")
    check(_rises_to(edge_end, edges), "edges of objects overlap")
    check(not edges or max(edge_to) < nodes, "an edge leads to an object that isn't there")
    check(all(root % _CROSS_THREAD < nodes for root in root_of), "a root leads to an object that isn't there")
    check(_rises_to(text_end, len(texts)), "texts of places overlap")
    check(
        all(place < place_count or place == _NO_PLACE for place in place_of),
        "a root was made in a place that isn't there",
    )
    names = _texts(text, name_end)
    files_and_functions = _texts(texts, text_end)
    made_at: list[list[int]] = [[] for _ in range(place_count)]  # objects
    plain, cross = array("I"), array("I")
    for index, root in enumerate(root_of):
        if place_count and place_of[index] != _NO_PLACE:
            made_at[place_of[index]].append(root % _CROSS_THREAD)
        else:
            (cross if root >= _CROSS_THREAD else plain).append(root % _CROSS_THREAD)
    places = [
        Place(files_and_functions[2 * i], line_of[i], files_and_functions[2 * i + 1], len(made_at[i]))
        for i in range(place_count)
    ]
    for place, objects in zip(places, made_at, strict=True):
        plain.append(len(type_of))
        type_of.append(len(names))
        names.append(f"{place.file}:{place.line}")
        granule_of.append(0)
        bytes_of.append(0)
        edge_to.extend(objects)
        edge_end.append(len(edge_to))
    return Graph(type_of, granule_of, bytes_of, names, plain, cross, edge_end, edge_to, places, roots)


def _texts(text: bytes, ends: array[int]) -> list[str]:
    return [without_versions(text[a:b].decode(errors="replace")) for a, b in pairwise([0, *ends])]


def _rises_to(ends: array[int], last: int) -> bool:
    if not ends:
        return last == 0
    return ends[-1] == last and all(a <= b for a, b in pairwise(ends))


def dominators(graph: Graph) -> Tree:
    """All roots together are the node behind the last."""
    nodes = len(graph.type_of)
    top = nodes
    order = _reverse_postorder(graph)
    place = array("q", [-1]) * (nodes + 1)  # in that order; -1: no root leads there
    for index, node in enumerate(order):
        place[node] = index
    before = _predecessors(graph, place)
    parent = array("q", [-1]) * (nodes + 1)
    parent[top] = top
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            new = -1
            for source in before[node]:
                if parent[source] == -1:
                    continue
                if new == -1:
                    new = source
                    continue
                other = source
                while new != other:
                    while place[new] > place[other]:
                        new = parent[new]
                    while place[other] > place[new]:
                        other = parent[other]
            if parent[node] != new:
                parent[node] = new
                changed = True
    retained = [*graph.bytes_of, 0]
    for node in reversed(order[1:]):
        retained[parent[node]] += retained[node]
    for node in range(nodes):
        if parent[node] == -1:
            parent[node] = node
    return Tree(parent, retained, len(order) - 1 - len(graph.places), order[1:])


def _reverse_postorder(graph: Graph) -> array[int]:
    """From all roots, that node first; iterative, as chains are long."""
    nodes = len(graph.type_of)
    seen = bytearray(nodes)
    done = array("q")
    ends, to = graph.edge_end, graph.edge_to
    for root in (*graph.roots, *graph.cross_roots):
        if seen[root]:
            continue
        seen[root] = 1
        stack = [(root, ends[root - 1] if root else 0)]
        while stack:
            node, edge = stack.pop()
            end = ends[node]
            while edge < end and seen[to[edge]]:
                edge += 1
            if edge == end:
                done.append(node)
                continue
            target = to[edge]
            seen[target] = 1
            stack.append((node, edge + 1))
            stack.append((target, ends[target - 1] if target else 0))
    done.append(nodes)
    done.reverse()
    return done


def _predecessors(graph: Graph, place: array[int]) -> list[list[int]]:
    """Of nodes that roots lead to, by nodes that roots lead to."""
    nodes = len(graph.type_of)
    before: list[list[int]] = [[] for _ in range(nodes + 1)]
    for root in (*graph.roots, *graph.cross_roots):
        before[root].append(nodes)
    begin = 0
    for node in range(nodes):
        end = graph.edge_end[node]
        if place[node] >= 0:
            for target in graph.edge_to[begin:end]:
                before[target].append(node)
        begin = end
    return before


class TypeRow(NamedTuple):
    """All objects of a type."""

    name: str
    objects: int
    cell_bytes: int
    retained_bytes: int  # dies if all of them die; by objects that no other of the type dominates


def types_of(graph: Graph, tree: Tree) -> list[TypeRow]:
    """Those that keep most first."""
    objects: dict[int, int] = {}
    cells: dict[int, int] = {}
    retained: dict[int, int] = {}
    for node, type_ in enumerate(graph.type_of):
        objects[type_] = objects.get(type_, 0) + 1
        cells[type_] = cells.get(type_, 0) + graph.bytes_of[node]
        if tree.parent[node] == node:  # no root leads there
            retained[type_] = retained.get(type_, 0) + graph.bytes_of[node]
    # Down the tree: an object counts if none above it is of its type.
    top = len(graph.type_of)
    children: dict[int, list[int]] = {}
    for node in tree.order:
        children.setdefault(tree.parent[node], []).append(node)
    above: dict[int, int] = {}
    stack: list[tuple[int, bool]] = [(node, False) for node in children.get(top, [])]
    while stack:
        node, leaves = stack.pop()
        type_ = graph.type_of[node]
        if leaves:
            above[type_] -= 1
            continue
        if not above.get(type_, 0):
            retained[type_] = retained.get(type_, 0) + tree.retained_bytes[node]
        above[type_] = above.get(type_, 0) + 1
        stack.append((node, True))
        stack.extend((child, False) for child in children.get(node, ()))
    types = len(graph.names) - len(graph.places)
    rows = [TypeRow(graph.names[t], objects[t], cells[t], retained.get(t, 0)) for t in objects if t < types]
    return sorted(rows, key=lambda row: (-row.retained_bytes, row.name))


class PlaceRow(NamedTuple):
    """All roots that were made in one line."""

    file: str
    line: int
    function: str
    roots: int
    retained_bytes: int  # dies if all of them are dropped


def places_of(graph: Graph, tree: Tree) -> list[PlaceRow]:
    """Those that keep most first."""
    rows = [PlaceRow(*place, tree.retained_bytes[graph.objects + i]) for i, place in enumerate(graph.places)]
    return sorted(rows, key=lambda row: (-row.retained_bytes, row.file, row.line))


def way_to(graph: Graph, wanted: int) -> list[int]:
    """The shortest way from a root to an object, both ends included; empty if there is none. A root's place comes before it."""
    came: dict[int, int] = dict.fromkeys((*graph.roots, *graph.cross_roots), -1)
    waiting = list(came)
    while waiting and wanted not in came:
        following = []
        for node in waiting:
            for target in graph.targets(node):
                if target not in came:
                    came[target] = node
                    following.append(target)
        waiting = following
    if wanted not in came:
        return []
    way = [wanted]
    while came[way[-1]] != -1:
        way.append(came[way[-1]])
    return way[::-1]
