"""The tree of about:memory: the bytes of every path, and beside them the unclaimed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.text.terminal import shorten
from tare.text.units import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tare.analysis.dark_matter import Matter
    from tare.text.terminal import Style

ROOT = "explicit"
DARK = "heap-unclassified"
TINY_PERCENT = 1.0  # of the root: smaller nodes decide nothing, and make every tree long
_KIB, _MIB = 1024, 1024 * 1024


class Node(NamedTuple):
    name: str
    bytes: float
    children: list[Node]  # largest first


def tree(matter: Matter) -> Node:
    """Paths go under `explicit/`, with any beginning: all reported blocks are heap."""
    leaves = [(_below_root(path.path), path.amount.gross_bytes) for path in matter.paths]
    dark = matter.section("unreported").amount.gross_bytes
    return _node(ROOT, [*leaves, ([DARK], dark)])


def _below_root(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return (parts[1:] if parts[:1] == [ROOT] else parts) or ["(itself)"]


def _node(name: str, leaves: Iterable[tuple[list[str], float]]) -> Node:
    below: dict[str, list[tuple[list[str], float]]] = {}
    own = whole = 0.0
    for path, size in leaves:
        whole += size
        if path:
            below.setdefault(path[0], []).append((path[1:], size))
        else:
            own += size
    if own and below:
        below.setdefault("(itself)", []).append(([], own))
    children = [_node(child, found) for child, found in below.items()]
    return Node(name, whole, sorted(children, key=lambda child: (-child.bytes, child.name)))


def fold(node: Node, least: float) -> tuple[Node, bool]:
    """Without nodes smaller than `least`; True if all of its children were."""
    large = [child for child in node.children if child.bytes >= least]
    tiny = [child for child in node.children if child.bytes < least]
    if tiny and not large:
        return Node(node.name, node.bytes, []), True
    if len(tiny) > 1:
        rest = Node(f"({len(tiny)} tiny)", sum(child.bytes for child in tiny), [])
        return Node(node.name, node.bytes, sorted([*large, rest], key=lambda child: (-child.bytes, child.name))), False
    return node, False


def lines(root: Node, tiny_percent: float, width: int, style: Style) -> Iterator[str]:
    unit, name = (_MIB, "MiB") if root.bytes >= 10 * _MIB else (_KIB, "KiB") if root.bytes >= 10 * _KIB else (1, "B")

    def amount(size: float) -> str:
        return f"{exact(size)} B" if unit == 1 else f"{size / unit:,.2f} {name}"

    def walk(node: Node, lead: str, indent: str, parent_width: int) -> Iterator[str]:
        kept, is_folded = fold(node, root.bytes * tiny_percent / 100)
        text = amount(node.bytes)
        share = 100 * node.bytes / root.bytes if root.bytes else 100.0
        share_text = f"({share:.1f}%)" if share >= 99.995 else f"({share:05.2f}%)"
        sign = "++" if is_folded else "--" if kept.children else "──"
        head = f"{lead}{text.rjust(parent_width, '─')} {share_text} {sign} "
        label = shorten(node.name, max(width - len(head), 8))
        yield head + (style(label, "red") if node.name == DARK and lead else label)
        for child in kept.children:
            is_last = child is kept.children[-1]
            yield from walk(
                child, indent + ("└──" if is_last else "├──"), indent + ("   " if is_last else "│  "), max(len(text), parent_width)
            )  # fmt: skip

    yield from walk(root, "", "", 0)


def as_json(node: Node) -> dict[str, Any]:
    return {"name": node.name, "bytes": round(node.bytes), "children": [as_json(child) for child in node.children]}
