"""A tree of functions as lines: amount, share, name. Only a choice between several callees indents, so that deep stacks fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from tare.naming.brief_names import brief
from tare.text.terminal import shorten
from tare.text.units import percent
from tare.tui.words import signed_in_unit

if TYPE_CHECKING:
    from tare.explore.explorer import Matching
    from tare.explore.graph import Box, Graph
    from tare.naming.names import Frame

_MOST_CALLEES = 200
_MOST_CHAIN = 1000  # callees that are opened together
_NEARLY_ALL = 0.9  # of the caller's amount
_MOST_INDENT = 24


class _Row(NamedTuple):
    box: Box
    indent: int
    depth: int


class StackView(Widget, can_focus=True):
    DEFAULT_CSS = "StackView { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "move", show=False),
        Binding("down", "move(1)", "move", show=False),
        Binding("pageup", "page(-1)", "page", show=False),
        Binding("pagedown", "page(1)", "page", show=False),
        Binding("home", "move(-1000000)", "begin", show=False),
        Binding("end", "move(1000000)", "end", show=False),
        Binding("right", "open", "open", key_display="→"),
        Binding("left", "close", "close", key_display="←"),
        Binding("enter", "open_or_close", "open or close", show=False),
        Binding("z", "zoom", "zoom"),
        Binding("backspace", "unzoom", "back", key_display="⌫"),
    ]

    def __init__(self) -> None:
        super().__init__(id="tree")
        self.graph: Graph | None = None
        self.unit = "bytes"
        self.compares = False
        self.found: Matching | None = None
        self.rows: list[_Row] = []
        self.cursor = 0
        self._top = 0
        self._root: tuple[str, ...] = ()  # names of functions down to the zoomed one
        self._opened: set[tuple[str, ...]] = set()
        self._shut: set[tuple[str, ...]] = set()

    def show(self, graph: Graph, unit: str, found: Matching | None, *, compares: bool) -> None:
        """Keeps what is open, and the cursor's function, by name."""
        at = self.path(self.rows[self.cursor].box) if self.rows and self.graph and self.graph.up == graph.up else ()
        if self.graph is None or self.graph.up != graph.up:
            self._root, self._opened, self._shut = (), set(), set()
            if not graph.up:
                self.graph = graph
                self._open_chain(graph, graph.root)
        self.graph, self.unit, self.found, self.compares = graph, unit, found, compares
        self._lay_out()
        self._move_to(at)

    def frame(self) -> Frame | None:
        return self.graph.frame(self.rows[self.cursor].box) if self.graph and self.rows else None

    def path(self, box: Box) -> tuple[str, ...]:
        names: list[str] = []
        at: Box | None = box
        while self.graph and at is not None and at.parent is not None:
            names.append(self.graph.name(at))
            at = at.parent
        return tuple(reversed(names))

    def next_match(self) -> bool:
        """Opens what is above the next function that the search found."""
        if not self.graph or not self.found or not self.rows:
            return False
        here = self.rows[self.cursor].box
        box = self.graph.path_to(self.found.functions, here if here.function in self.found.functions else None)
        if box is None:
            return False
        self._root = ()
        at = box.parent
        while at is not None:
            self._opened.add(self.path(at))
            self._shut.discard(self.path(at))
            at = at.parent
        self._lay_out()
        self.cursor = next((number for number, row in enumerate(self.rows) if row.box is box), 0)
        self._scroll()
        return True

    # -- rows

    def _lay_out(self) -> None:
        graph = self.graph
        if graph is None:
            return
        box = graph.root
        for name in self._root:
            box = next((each for each in graph.below(box) if graph.name(each) == name), box)
        self.rows = []
        waiting = [_Row(box, 0, 0)]
        while waiting:
            row = waiting.pop()
            self.rows.append(row)
            if self._is_open(row.box, row is self.rows[0]):
                below = graph.below(row.box)[:_MOST_CALLEES]
                indent = row.indent + (len(below) > 1 or row.depth == 0)
                waiting += [_Row(each, indent, row.depth + 1) for each in reversed(below)]
        self.cursor = min(self.cursor, len(self.rows) - 1)
        self.refresh()

    def _is_open(self, box: Box, is_first: bool) -> bool:
        path = self.path(box)
        return path not in self._shut and (is_first or path in self._opened)

    def _move_to(self, path: tuple[str, ...]) -> None:
        self.cursor = next((number for number, row in enumerate(self.rows) if self.path(row.box) == path), 0)
        self._scroll()

    def _scroll(self) -> None:
        height = max(self.size.height - 1, 1)
        self._top = max(min(self._top, self.cursor), self.cursor - height + 1, 0)
        self.refresh()

    def action_move(self, by: int) -> None:
        self.cursor = max(0, min(self.cursor + by, len(self.rows) - 1))
        self._scroll()

    def action_page(self, by: int) -> None:
        self.action_move(by * max(self.size.height - 2, 1))

    def action_open(self) -> None:
        """With all callees below that have nearly everything."""
        if self.graph and self.rows:
            self._open_chain(self.graph, self.rows[self.cursor].box)
            self._lay_out()

    def _open_chain(self, graph: Graph, box: Box) -> None:
        for _ in range(_MOST_CHAIN):
            path = self.path(box)
            self._opened.add(path)
            self._shut.discard(path)
            below = graph.below(box)
            if not below or abs(below[0].sums.now) < _NEARLY_ALL * abs(box.sums.now):
                break
            box = below[0]

    def action_close(self) -> None:
        """Of a closed function: goes to its caller."""
        if not self.rows:
            return
        row = self.rows[self.cursor]
        if self.cursor + 1 < len(self.rows) and self.rows[self.cursor + 1].depth > row.depth:
            path = self.path(row.box)
            self._opened.discard(path)
            self._shut.add(path)
            self._lay_out()
            return
        above = [number for number in range(self.cursor) if self.rows[number].depth < row.depth]
        self.action_move(above[-1] - self.cursor if above else 0)

    def action_open_or_close(self) -> None:
        if not self.rows:
            return
        row = self.rows[self.cursor]
        is_open = self.cursor + 1 < len(self.rows) and self.rows[self.cursor + 1].depth > row.depth
        if is_open:
            self.action_close()
        else:
            self.action_open()

    def action_zoom(self) -> None:
        if self.rows:
            self._root = self.path(self.rows[self.cursor].box)
            self.cursor = 0
            self._lay_out()
            self._scroll()

    def action_unzoom(self) -> None:
        if self._root:
            at = self._root
            self._root = self._root[:-1]
            self._lay_out()
            self._move_to(at)

    # -- drawing

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            return Strip([Segment(self._head()[:width].ljust(width), Style(dim=True))])
        number = self._top + y - 1
        if self.graph is None or number >= len(self.rows):
            return Strip.blank(width, Style())
        row = self.rows[number]
        style = Style(reverse=True) if number == self.cursor and self.has_focus else Style(bold=number == self.cursor)
        if self.found and row.box.function in self.found.functions:
            style += Style(underline=True, bold=True)
        return Strip([Segment(self._line(row, number, width), style)])

    def _head(self) -> str:
        if self.graph is None:
            return ""
        crumbs = " › ".join(self._root[-3:])
        order = "from allocating functions up" if self.graph.up else "from callers down"
        change = f"{'change':>12}" if self.compares else ""
        return f"{self.unit:>11} {change}{'share':>7}  {order}{f': {crumbs}' if crumbs else ''}"

    def _line(self, row: _Row, number: int, width: int) -> str:
        assert self.graph is not None
        box = row.box
        opened = number + 1 < len(self.rows) and self.rows[number + 1].depth > row.depth
        sign = "-" if opened else "+" if self.graph.below(box) else " "
        change = f"{signed_in_unit(box.sums.now - box.sums.before, self.unit, sign=True):>12}" if self.compares else ""
        share = percent(box.sums.now, self.graph.root.sums.now)
        mark = "*" if self.found and box.function in self.found.functions else " "
        head = f"{signed_in_unit(box.sums.now, self.unit):>11} {change}{share:>7} {mark}{' ' * min(row.indent, _MOST_INDENT)}{sign} "
        frame = self.graph.frame(box)
        place = f" {frame.place}" if frame and frame.place else ""
        room = max(width - len(head) - len(place), min(12, width - len(head)))
        return (head + brief(self.graph.name(box), room) + shorten(place, max(width - len(head) - room, 0)))[
            :width
        ].ljust(width)
