"""Graphs of collected heaps: dominators against a slow and certain way, damaged files against their checks."""

from __future__ import annotations

import json
import random
import struct
from itertools import accumulate
from pathlib import Path

import pytest
from tare import cli
from tare.collector.heap_graph import dominators, places_of, read_graph, types_of, way_to
from tare.errors import TareError


def write(
    path: Path,
    nodes: list[tuple[int, int]],
    edges: list[tuple[int, int]],
    roots: list[int],
    names: list[str],
    places: list[tuple[str, int, str]] | None = None,
    place_of: list[int] | None = None,
) -> Path:
    """nodes: (type, bytes); places: (file, line, function); in the format of tare/gc/heap_graph.h."""
    text = "".join(names).encode()
    ends, at = [], 0
    for name in names:
        at += len(name.encode())
        ends.append(at)
    sorted_edges = sorted(edges)
    edge_ends = [sum(a <= i for a, _ in sorted_edges) for i in range(len(nodes))]
    data = struct.pack(
        "<8s7Q", b"TAREGCG1", len(nodes), len(edges), len(roots), len(names), len(text), 1, len(places or [])
    )
    data += struct.pack(f"<{len(nodes)}I", *(t for t, _ in nodes))
    data += struct.pack(f"<{len(nodes)}I", *(10 + 2 * i for i in range(len(nodes))))
    data += struct.pack(f"<{len(nodes)}Q", *(b for _, b in nodes))
    data += struct.pack(f"<{len(names)}I", *ends) + text + bytes(-(len(text) + 4 * len(names)) % 8)
    data += struct.pack(f"<{len(roots)}I", *roots) + struct.pack(f"<{len(nodes)}I", *edge_ends)
    data += struct.pack(f"<{len(edges)}I", *(b for _, b in sorted_edges))
    if places:
        texts = [part.encode() for file, _, function in places for part in (file, function)]
        data += struct.pack(f"<{len(roots)}I", *(place_of or []))
        data += struct.pack(f"<{len(places)}I", *(line for _, line, _ in places))
        data += struct.pack(f"<{len(texts)}I", *accumulate(len(part) for part in texts)) + b"".join(texts)
    path.write_bytes(data)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """0 (Top) -> 1 and 2 (Node), both -> 3 (Leaf), 2 -> 4 (Node) -> 5 (Leaf); 6 (Leaf) by no root; 7 (Leaf) by another thread's."""
    nodes = [(0, 100), (1, 10), (1, 20), (2, 1), (1, 30), (2, 2), (2, 4), (2, 8)]
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (4, 5), (5, 4)]
    return write(tmp_path / "g.tgg", nodes, edges, [0, 7 | 1 << 31], ["Top", "Node", "Leaf"])


def test_what_dies_with_an_object_is_what_it_keeps(small: Path) -> None:
    graph = read_graph(small)
    tree = dominators(graph)
    assert list(tree.retained_bytes) == [163, 10, 52, 1, 32, 2, 4, 8, 171]
    assert list(tree.parent) == [8, 0, 0, 0, 2, 4, 6, 8, 8]
    assert tree.reached == 7
    rows = {row.name: row for row in types_of(graph, tree)}
    assert (rows["Top"].retained_bytes, rows["Top"].objects) == (163, 1)
    assert (rows["Node"].retained_bytes, rows["Node"].cell_bytes, rows["Node"].objects) == (62, 60, 3)
    assert rows["Leaf"].retained_bytes == 1 + 2 + 4 + 8
    assert way_to(graph, 5) == [0, 2, 4, 5]
    assert way_to(graph, 6) == []


def test_the_command_shows_types_objects_and_ways(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gc", "graph", str(small), "--rows", "2"]) == 0
    output = capsys.readouterr().out
    assert output.count("\n") >= 8 and "Top > Node" in output and "Leaf" not in output, "two rows a table"
    assert cli.main(["gc", "graph", str(small), "--type", "Leaf", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["objects"], len(result["types"]), result["roots"], result["unreached_objects"]) == (8, 3, 2, 1)
    assert [(row["type"], row["retained_bytes"]) for row in result["largest"]] == [
        ("Leaf", 8),
        ("Leaf", 2),
        ("Leaf", 1),
    ]
    assert result["largest"][1]["way"] == ["Top", "Node", "Node", "Leaf"]
    assert cli.main(["gc", "graph", str(small), "--rows", "-1"]) == 2


@pytest.fixture
def located(tmp_path: Path) -> Path:
    """0 -> 1, 2; 3 -> 2; 4 -> 5. Line 7 made roots to 0 and 3, line 8 (of another thread) one to 4, and 5 has one without a line."""
    nodes = [(0, 1), (1, 10), (1, 100), (0, 1000), (0, 10_000), (1, 100_000)]
    edges = [(0, 1), (0, 2), (3, 2), (4, 5)]
    places = [("src/window.cc", 7, "void open()"), ("src/tab.cc", 8, "Tab::Tab()")]
    no_place = 0xFFFFFFFF
    return write(tmp_path / "l.tgg", nodes, edges, [5, 0, 3, 4 | 1 << 31], ["Top", "Leaf"], places, [no_place, 0, 0, 1])


def test_lines_that_made_roots_are_weighed_and_begin_the_ways(
    located: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = read_graph(located)
    tree = dominators(graph)
    rows = places_of(graph, tree)
    assert [tuple(row) for row in rows] == [
        ("src/tab.cc", 8, "Tab::Tab()", 1, 10_000),
        ("src/window.cc", 7, "void open()", 2, 1111),  # what both of its roots keep is one more than each keeps
    ]
    assert tree.reached == graph.objects == 6
    assert {row.name: row.retained_bytes for row in types_of(graph, tree)} == {"Top": 11_011, "Leaf": 100_110}
    assert [graph.names[graph.type_of[node]] for node in way_to(graph, 1)] == ["src/window.cc:7", "Top", "Leaf"]
    assert cli.main(["gc", "graph", str(located)]) == 0
    output = capsys.readouterr().out
    assert "6 objects of 2 types" in output and "4 edges" in output and "4 roots\n" in output
    assert "2  src/window.cc:7  void open()" in output and "src/tab.cc:8 > Top" in output
    assert cli.main(["gc", "graph", str(located), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["places"][0] == {
        "file": "src/tab.cc",
        "line": 8,
        "function": "Tab::Tab()",
        "roots": 1,
        "retained_bytes": 10_000,
    }
    assert result["largest"][0]["way"] == ["Leaf"] and result["largest"][1]["way"] == ["src/tab.cc:8", "Top"]
    assert (result["objects"], result["edges"], result["roots"], len(result["types"])) == (6, 4, 4, 2)


@pytest.mark.parametrize("seed", range(40))
def test_dominators_agree_with_leaving_each_node_out(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 40)
    nodes = [(chance.randrange(3), chance.randrange(1, 100)) for _ in range(count)]
    edges = [(chance.randrange(count), chance.randrange(count)) for _ in range(chance.randrange(3 * count))]
    roots = [chance.randrange(count) for _ in range(chance.randrange(1, 4))]
    graph = read_graph(write(tmp_path / "g.tgg", nodes, edges, roots, ["a", "b", "c"]))

    def reachable(without: int) -> set[int]:
        seen = {root for root in roots if root != without}
        waiting = list(seen)
        while waiting:
            node = waiting.pop()
            for a, b in edges:
                if a == node and b != without and b not in seen:
                    seen.add(b)
                    waiting.append(b)
        return seen

    tree = dominators(graph)
    everything = reachable(-1)
    assert tree.reached == len(everything)
    for node in range(count):
        dead = everything - reachable(node) if node in everything else {node}
        assert tree.retained_bytes[node] == sum(nodes[each][1] for each in dead), node
    # A type keeps alive what dies if all of its objects do; objects that no root leads to count themselves.
    for row in types_of(graph, tree):
        assert row.retained_bytes >= 0 and row.objects == sum(t == "abc".index(row.name) for t, _ in nodes)


def test_chains_of_any_length_are_followed(tmp_path: Path) -> None:
    count = 20_000
    path = tmp_path / "g.tgg"
    data = struct.pack("<8s7Q", b"TAREGCG1", count, count - 1, 1, 1, 1, 1, 0)
    data += bytes(4 * count) + struct.pack(f"<{count}I", *range(count)) + struct.pack("<Q", 8) * count
    data += struct.pack("<I", 1) + b"N" + bytes(3) + struct.pack("<I", 0)
    data += struct.pack(f"<{count}I", *range(1, count), count - 1) + struct.pack(f"<{count - 1}I", *range(1, count))
    path.write_bytes(data)
    graph = read_graph(path)
    tree = dominators(graph)
    assert tree.retained_bytes[0] == 8 * count and tree.retained_bytes[count - 1] == 8
    assert types_of(graph, tree)[0].retained_bytes == 8 * count
    assert len(way_to(graph, count - 1)) == count


def test_an_empty_heap_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "g.tgg", [], [], [], [])
    assert cli.main(["gc", "graph", str(path)]) == 0
    assert "0 objects" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("which", ["small", "located"])
def test_damaged_files_are_refused_and_nothing_else_happens(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    whole = Path(request.getfixturevalue(which)).read_bytes()
    broken = tmp_path / "broken.tgg"
    for length in range(len(whole)):
        broken.write_bytes(whole[:length])
        with pytest.raises(TareError):
            read_graph(broken)
    broken.write_bytes(whole + b"x")
    with pytest.raises(TareError, match="1 bytes more"):
        read_graph(broken)
    chance = random.Random(1)
    refused = 0
    for _ in range(5000):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        broken.write_bytes(data)
        try:
            graph = read_graph(broken)
        except TareError as error:
            assert error.kind in ("Corrupt", "NotATrace")
            refused += 1
            continue
        tree = dominators(graph)
        types_of(graph, tree), places_of(graph, tree)
        way_to(graph, len(graph.type_of) - 1)
    assert refused > 1000


def test_what_is_no_snapshot_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(b"hello")
    assert cli.main(["gc", "graph", str(tmp_path / "x")]) == 2
    assert "not a graph" in capsys.readouterr().err
    assert cli.main(["gc", "graph", str(tmp_path / "none")]) == 4
