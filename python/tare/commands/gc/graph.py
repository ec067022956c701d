"""`tare gc graph`: which types and objects of a collected heap keep how much memory alive, and by which paths."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tare.commands.options import add_json, add_rows
from tare.reports.table import Column, table
from tare.text.printable import say
from tare.text.terminal import shorten_path, width_of
from tare.text.units import exact, human_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.collector.heap_graph import Graph, PlaceRow, Tree, TypeRow

SYNOPSIS = "tare gc graph FILE [--type PATTERN] [-n N] [--json]"
HELP = (
    "Reads a graph that the program wrote by tare::gc::write_graph(): the objects of a collected heap and the pointers\n"
    "between them. Prints the bytes that each type keeps alive, the source lines of the roots, the objects that keep the\n"
    "most alive, and the shortest path from a root to each of them."
)
EXAMPLES = """
tare gc graph app.tgg                    types and objects that keep the most alive
tare gc graph app.tgg --type Node -n 3   the three Nodes that keep the most alive, and their paths from a root
"""

_LEAST_NAME = 10  # columns of a name
_ROWS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a graph that write_graph() wrote")
    parser.add_argument("--type", metavar="PATTERN", help="only objects of types whose names contain or match PATTERN")
    add_rows(parser, _ROWS, "rows of each table")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.collector.heap_graph import dominators, places_of, read_graph, types_of

    graph = read_graph(options.file)
    tree = dominators(graph)
    types, places = types_of(graph, tree), places_of(graph, tree)
    nodes = _largest(graph, tree, options.type, options.rows)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(graph, tree, types, places, nodes)))
    else:
        columns = width_of(sys.stdout)
        for lines in (
            _head_lines(graph, tree, types),
            _type_lines(types, options.rows, columns),
            _place_lines(places, options.rows, columns),
            _object_lines(graph, tree, nodes, columns),
        ):
            say(lines)
    return 0


def _largest(graph: Graph, tree: Tree, part: str | None, limit: int | None) -> list[int]:
    wanted = {i for i, name in enumerate(graph.names) if part is None or part in name or fnmatchcase(name, part)}
    nodes = (node for node in tree.order if node < graph.objects and graph.type_of[node] in wanted)
    return sorted(nodes, key=lambda node: (-tree.retained_bytes[node], node))[:limit]


def _head_lines(graph: Graph, tree: Tree, types: list[TypeRow]) -> Iterator[str]:
    cells = human_bytes(sum(graph.bytes_of))
    yield f"{graph.objects:,} objects of {len(types):,} types, {cells} in cells, {_edges(graph):,} edges"
    unreached = graph.objects - tree.reached
    yield f"{graph.root_count:,} roots" + (f"; {unreached:,} objects reached only from the stack" if unreached else "")
    yield ""


def _type_lines(types: list[TypeRow], limit: int | None, columns: int) -> Iterator[str]:
    heads = [Column("keeps alive"), Column("in cells"), Column("objects"), Column("type", "left", least=_LEAST_NAME)]
    shown = types[:limit]
    rows = [
        [human_bytes(row.retained_bytes), human_bytes(row.cell_bytes), exact(row.objects), row.name] for row in shown
    ]
    yield from table(heads, rows, columns)
    if len(types) > len(shown):
        yield f"({len(types) - len(shown):,} more types)"
    yield ""


def _place_lines(places: list[PlaceRow], limit: int | None, columns: int) -> Iterator[str]:
    if not places:
        return
    heads = [
        Column("keeps alive"),
        Column("roots"),
        Column("made at", "left", least=_LEAST_NAME, cut=shorten_path),
        Column("in", "left", least=_LEAST_NAME),
    ]
    shown = places[:limit]
    yield from table(
        heads,
        [[human_bytes(row.retained_bytes), exact(row.roots), f"{row.file}:{row.line}", row.function] for row in shown],
        columns,
    )
    if len(places) > len(shown):
        yield f"({len(places) - len(shown):,} more lines)"
    yield ""


def _object_lines(graph: Graph, tree: Tree, nodes: list[int], columns: int) -> Iterator[str]:
    yield "objects that keep the most alive, and the shortest path from a root"
    rows = [[human_bytes(tree.retained_bytes[node]), _way(graph, node)] for node in nodes]
    yield from table([Column(), Column("", "left", least=_LEAST_NAME)], rows, columns)


def _way(graph: Graph, node: int) -> str:
    from tare.collector.heap_graph import way_to

    parts = []
    for name, same in groupby(graph.names[graph.type_of[each]] for each in way_to(graph, node)):
        count = len(list(same))
        parts.append(name if count == 1 else f"{name} x{count}")
    return " > ".join(parts)


def _edges(graph: Graph) -> int:
    return graph.edge_end[graph.objects - 1] if graph.objects else 0


def as_json(graph: Graph, tree: Tree, types: list[TypeRow], places: list[PlaceRow], nodes: list[int]) -> dict[str, Any]:
    from tare.collector.heap_graph import way_to

    return {
        "objects": graph.objects,
        "edges": _edges(graph),
        "roots": graph.root_count,
        "unreached_objects": graph.objects - tree.reached,
        "cell_bytes": sum(graph.bytes_of),
        "types": [row._asdict() for row in types],
        "places": [row._asdict() for row in places],
        "largest": [
            {
                "type": graph.names[graph.type_of[node]],
                "granule": graph.granule_of[node],
                "cell_bytes": graph.bytes_of[node],
                "retained_bytes": tree.retained_bytes[node],
                "way": [graph.names[graph.type_of[each]] for each in way_to(graph, node)],
            }
            for node in nodes
        ],
    }
