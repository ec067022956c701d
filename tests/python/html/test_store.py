"""The embedded tree: decoded by code of the test's own, its sums are those that went in, folded or not."""

from __future__ import annotations

import base64
import json
import random
import zlib
from itertools import accumulate

import pytest
from handmade_stacks import Tree
from tare.html.store import Measure, StackTree
from tare.html.sums import rounded
from tare.naming.names import Frame

MEASURES = [Measure("peak.gross", "gross", "bytes", "q"), Measure("peak.blocks", "blocks", "blocks", "q")]


def decoded(text: str) -> tuple[dict[str, object], list[int], list[int], list[dict[int, int]]]:
    """Header, parents, frames, and values of each measure by node."""
    data = zlib.decompress(base64.b85decode(text.replace(",", "<")))
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    length = number()
    header = json.loads(data[at : at + length])
    at += length
    parents, frames, path = [-1], [-1], [0]
    for node in range(1, header["nodes"]):
        up = number()
        del path[len(path) - up :]
        parents.append(path[-1])
        frames.append(number())
        path.append(node)
    columns = []
    for _ in header["measures"]:
        values, node = {}, 0
        for _ in range(number()):
            node += number()
            values[node] = number()
        columns.append(values)
    leaves = set(range(len(parents))) - set(parents)
    assert [number() for _ in leaves] == [0] * len(leaves)
    assert number() == 0
    types, node = {}, 0
    for _ in range(number()):
        node += number()
        types[node] = header["types"][number() - 1]
    assert at == len(data)
    header["type_of"] = types
    return header, parents, frames, columns


def frame(name: str) -> Frame:
    return Frame(name, "", "a.c", 1, "/bin/app", None)


def made(stacks: list[tuple[str, int]]) -> StackTree:
    """Merged from as many trees as stacks: parts of one tree and a tree of its own have the same nodes."""
    tree = StackTree(MEASURES)
    for names, value in stacks:
        one = Tree(lambda _, names=names: list(range(len(names)))[::-1], outermost_first=True)  # type: ignore[misc]
        for row, name in enumerate(names):
            one.name(row, [tree.function(frame(name))], [tree.function(frame(name))])
        one.add([1], [0])
        node = tree.merge(one)[-1] if names else 0
        tree.add(node, 0, value)
        tree.add(node, 1, 1)
    return tree


def test_stacks_come_back_with_their_sums() -> None:
    stacks = [("abc", 5), ("ab", 1 << 45), ("abd", 7), ("x", 128), ("xax", 0), ("abc", 2)]
    header, parents, frames, (gross, blocks) = decoded(made(stacks).encode({}, {"file": "f"}))
    strings = header["strings"]
    functions = header["functions"]
    assert isinstance(strings, list) and isinstance(functions, list)
    names = list(accumulate(functions[0]))  # each by its distance from the one before

    def path(node: int) -> str:
        return path(parents[node]) + strings[names[frames[node]]] if node else ""

    assert {path(node): value for node, value in gross.items()} == {"abc": 7, "ab": 1 << 45, "abd": 7, "x": 128}
    assert sum(blocks.values()) == len(stacks)
    assert header["folded"] == 0


def test_folding_keeps_every_total_and_the_largest_stacks() -> None:
    chance = random.Random(7)
    stacks = [
        ("".join(chance.choices("abcdefgh", k=chance.randint(1, 9))), chance.randrange(1000)) for _ in range(2000)
    ]
    stacks.append(("hhhhhhhhh", 10**9))
    header, parents, _, (gross, blocks) = decoded(made(stacks).encode({}, {}, most=100))
    assert header["nodes"] == 100
    assert isinstance(header["folded"], int) and header["folded"] > 1000
    assert sum(gross.values()) == sum(value for _, value in stacks)
    assert sum(blocks.values()) == len(stacks)
    assert max(gross.values()) >= 10**9
    assert all(parent < node for node, parent in enumerate(parents))


@pytest.mark.slow
def test_a_store_that_is_too_large_is_folded_until_it_fits() -> None:
    """With its totals, and without the names of boxes that are gone."""
    chance = random.Random(8)
    stacks = [
        (chance.choices([f"function {number}" for number in range(9000)], k=4), chance.randrange(1000))
        for _ in range(3000)
    ]
    tree = made(stacks)  # type: ignore[arg-type]
    whole = tree.encode({}, {})
    text = tree.encode({}, {}, most_text=len(whole) // 3)
    assert len(text) <= len(whole) // 3
    header, _, frames, (gross, blocks) = decoded(text)
    assert sum(gross.values()) == sum(value for _, value in stacks)
    assert sum(blocks.values()) == len(stacks)
    functions = header["functions"]
    assert isinstance(functions, list)
    assert [len(column) for column in functions] == [len(set(frames[1:]))] * 3
    assert isinstance(header["folded"], int) and header["folded"] > 5000


def test_types_of_one_box_are_parted_and_folded_boxes_have_none() -> None:
    """A box with others folded into it has blocks of several types."""
    tree = made([("ab", 5), ("ac", 7), ("ad", 1), ("ade", 1)])
    b, c, d = 2, 3, 4
    tree.types = {b: "Narrow", c: "Broad", d: "Deep"}
    (other,) = tree.split([b])
    tree.types[other] = "Odd"
    tree.add(other, 0, 100)
    header, parents, frames, (gross, _) = decoded(tree.encode({}, {}))
    by_type = {name: gross[node] for node, name in header["type_of"].items()}  # type: ignore[attr-defined]
    assert by_type == {"Narrow": 5, "Broad": 7, "Deep": 1, "Odd": 100}
    (twin,) = (node for node, name in header["type_of"].items() if name == "Odd")  # type: ignore[attr-defined]
    (node,) = (node for node, name in header["type_of"].items() if name == "Narrow")  # type: ignore[attr-defined]
    assert (parents[twin], frames[twin]) == (parents[node], frames[node])
    header, *_, (gross, _) = decoded(tree.encode({}, {}, most=6))
    assert header["folded"] == 1 and sum(gross.values()) == 114
    assert sorted(header["type_of"].values()) == ["Broad", "Narrow", "Odd"]  # type: ignore[attr-defined]


def test_an_empty_tree() -> None:
    header, parents, _, columns = decoded(made([]).encode({}, {}))
    assert (header["nodes"], parents, columns) == (1, [-1], [{}, {}])


def test_rounding_keeps_the_sum() -> None:
    values = [(number, 0.3) for number in range(10)]
    assert sum(whole for _, whole in rounded(values)) == 3
    assert [whole for _, whole in rounded([(0, 2.0), (1, 5.0)])] == [2, 5]
