"""`tare gc-graph`: a snapshot of a collected heap: which types and objects keep how much alive, and who keeps them."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tare.printable import say
from tare.terminal import shorten, shorten_path, width_of
from tare.units import human_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.heap_graph import Graph, PlaceRow, Tree, TypeRow

SYNOPSIS = "tare gc-graph FILE [--type NAME] [--limit N] [--json]"
HELP = (
    "Reads what tare::gc::write_graph() wrote: the objects of a collected heap and what points to what. Shows what each type\n"
    "keeps alive, which lines of the source made the roots that say so, the objects that keep most, and the shortest way\n"
    "from a root to each of those."
)
EXAMPLES = """
tare gc-graph app.tgg                            types and objects that keep most
tare gc-graph app.tgg --type Node --limit 3      the three Nodes that keep most, and who keeps them
"""

_NUMBERS = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a snapshot of a heap's graph")
    parser.add_argument("--type", metavar="NAME", help="only objects of types whose name has this in it")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="rows a table (default: 10)")
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(options: argparse.Namespace) -> int:
    from tare.errors import USAGE, TareError
    from tare.heap_graph import dominators, places_of, read_graph, types_of

    if options.limit < 1:
        raise TareError(USAGE, f"gc-graph: --limit wants at least 1, not {options.limit}")
    graph = read_graph(options.file)
    tree = dominators(graph)
    types, places = types_of(graph, tree), places_of(graph, tree)
    nodes = _largest(graph, tree, options.type, options.limit)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(graph, tree, types, places, nodes)))
    else:
        columns = width_of(sys.stdout)
        for lines in (
            _head_lines(graph, tree, types),
            _type_lines(types, options.limit, columns),
            _place_lines(places, options.limit, columns),
            _object_lines(graph, tree, nodes, columns),
        ):
            say(lines)
    return 0


def _largest(graph: Graph, tree: Tree, part: str | None, limit: int) -> list[int]:
    wanted = {i for i, name in enumerate(graph.names) if part is None or part in name}
    nodes = (node for node in tree.order if node < graph.objects and graph.type_of[node] in wanted)
    return sorted(nodes, key=lambda node: (-tree.retained_bytes[node], node))[:limit]


def _head_lines(graph: Graph, tree: Tree, types: list[TypeRow]) -> Iterator[str]:
    cells = human_bytes(sum(graph.bytes_of))
    yield f"{graph.objects:,} objects of {len(types)} types, {cells} in cells, {_edges(graph):,} edges"
    unreached = graph.objects - tree.reached
    yield f"{graph.root_count:,} roots" + (f"; {unreached:,} objects that only the stack led to" if unreached else "")
    yield ""


def _type_lines(types: list[TypeRow], limit: int, columns: int) -> Iterator[str]:
    yield f"{'keeps alive':>12}{'in cells':>12}{'objects':>13}  type"
    for row in types[:limit]:
        name = shorten(row.name, max(columns - _NUMBERS, 10))
        yield f"{human_bytes(row.retained_bytes):>12}{human_bytes(row.cell_bytes):>12}{row.objects:>13,}  {name}"
    if len(types) > limit:
        yield f"{'':>37}  and {len(types) - limit} more types"
    yield ""


def _place_lines(places: list[PlaceRow], limit: int, columns: int) -> Iterator[str]:
    if not places:
        return
    yield f"{'keeps alive':>12}{'roots':>12}  made at"
    for row in places[:limit]:
        where = f"{shorten_path(f'{row.file}:{row.line}', max(columns - 26, 10))}  {row.function}"
        yield f"{human_bytes(row.retained_bytes):>12}{row.roots:>12,}  {shorten(where, max(columns - 26, 10))}"
    if len(places) > limit:
        yield f"{'':>24}  and {len(places) - limit} more lines"
    yield ""


def _object_lines(graph: Graph, tree: Tree, nodes: list[int], columns: int) -> Iterator[str]:
    yield "objects that keep most, and the shortest way to them from a root"
    for node in nodes:
        yield f"{human_bytes(tree.retained_bytes[node]):>12}  " + shorten(_way(graph, node), max(columns - 14, 20))


def _way(graph: Graph, node: int) -> str:
    from tare.heap_graph import way_to

    parts = []
    for name, same in groupby(graph.names[graph.type_of[each]] for each in way_to(graph, node)):
        count = len(list(same))
        parts.append(name if count == 1 else f"{name} x{count}")
    return " > ".join(parts)


def _edges(graph: Graph) -> int:
    return graph.edge_end[graph.objects - 1] if graph.objects else 0


def as_json(graph: Graph, tree: Tree, types: list[TypeRow], places: list[PlaceRow], nodes: list[int]) -> dict[str, Any]:
    from tare.heap_graph import way_to

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
