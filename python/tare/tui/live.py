"""The same screen for a recording in progress: figures of all sites as they change, findings so far, the tree and the timeline of now."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from tare.errors import TareError
from tare.explore.choice import Choice, When
from tare.explore.explorer import compiled
from tare.explore.graph import matches
from tare.live.live_figures import ORDERS, explorable
from tare.reports import live_view
from tare.reports.text_parts import amount
from tare.text.printable import printable
from tare.tui import tables
from tare.tui.choosing import Details
from tare.tui.explore import Explore
from tare.tui.stack_view import StackView
from tare.tui.timeline import Timeline

if TYPE_CHECKING:
    from typing import Protocol

    from textual.app import ComposeResult
    from textual.timer import Timer

    from tare.explore.explorer import Explorer
    from tare.live.live_figures import Figures, Found, Site
    from tare.naming.names import Frame

    class Eye(Protocol):
        """The reader: live_figures.FiguresReader, or a test."""

        pid: int

        def read(self) -> Figures: ...
        def is_over(self) -> bool: ...


class Live(Explore):
    """Reads in a thread of its own, so that keys answer at once. Ends with `failure` set if reading fails."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "hold", "freeze"),
        *(Binding(order[0], f"sort('{order}')", f"by {order}", show=False) for order in ORDERS),
        Binding("v", "nothing", show=False),
    ]

    def __init__(self, eye: Eye, interval_s: float, order: str) -> None:
        super().__init__(self._never, f"process {eye.pid}")
        self._eye = eye
        self._interval_s = interval_s
        self._order = order
        self._figures: Figures | None = None
        self._timer: Timer | None = None
        self._held = False
        self._live_sites: list[Site] = []  # the rows on the screen
        self._live_found: list[Found] = []
        self.view = "sites"
        self.choice = self.first_choice()
        self.over = False

    @staticmethod
    def _never() -> Explorer:
        raise AssertionError("the first figures make the model")

    def first_choice(self) -> Choice:
        return Choice(When("end"))

    def compose_views(self) -> ComposeResult:
        yield DataTable(id="sites", cursor_type="row")
        yield DataTable(id="found", cursor_type="row")
        yield StackView()
        yield Timeline()

    def start(self) -> None:
        self._start_reading()

    def _start_reading(self) -> None:
        self.run_worker(self._take_figures, thread=True)

    def _take_figures(self) -> None:
        """In its thread."""
        try:
            with self._lock:  # the tables of the figures before are replaced
                figures = self._eye.read()
        except TareError as error:
            self.call_from_thread(self._stop, error)
            return
        self.call_from_thread(self._take, figures)

    def _stop(self, error: TareError) -> None:
        self.over = self._figures is not None and self._eye.is_over()
        self._timer = None
        if not self.over:
            self._fail(error)
            return
        self.draw_head()

    def _take(self, figures: Figures) -> None:
        self._figures = figures
        if not self._held:
            self._show_figures()
        self._timer = self.set_timer(max(self._interval_s, figures.rest_s), self._start_reading)

    def _show_figures(self) -> None:
        figures = self._figures
        if figures is None:
            return
        self.model = explorable(figures)
        self._draw_tables()
        self.update()

    def update(self) -> None:
        if self.view in ("tree", "time"):
            super().update()
        elif self._figures is not None:
            self._draw_tables()

    def words(self, model: Explorer, choice: Choice) -> str:
        return model.words(choice.when, in_progress=not self.over)

    def head(self) -> list[str]:
        if self._figures is None:
            return []
        lines = live_view.head(self._figures, max(self.size.width - 2, 40))
        if self.over:
            lines.insert(0, f"process {self._eye.pid} has ended; these are the last figures (q quits)")
        if self.view in ("tree", "time") and self._total is not None and self.model is not None:
            lines = [lines[0], *super().head()[1:]]
        elif self.choice.search:
            lines.append(f"search /{self.choice.search}/")
        return [*lines, "frozen (space goes on)"] if self._held else lines

    def draw_head(self) -> None:
        self.query_one("#head", Static).update(Text("\n".join(map(printable, self.head()))))

    def _draw_tables(self) -> None:
        figures = self._figures
        if figures is None:
            return
        self.draw_head()
        expression = compiled(self.choice.search)
        self._live_sites = [
            each
            for each in live_view.sorted_sites(figures, self._order, len(figures.sites))
            if expression is None or matches(expression, each.frame)
        ]
        heads = [*(heading for heading, _ in live_view.CELLS), f"site, by {self._order}"]
        rows = [[*(cell(site) for _, cell in live_view.CELLS), str(site.frame)] for site in self._live_sites]
        tables.fill(self.query_one("#sites", DataTable), heads, rows, self.size.width)
        self._live_found = [
            each
            for each in figures.found
            if expression is None or expression.search(each.lens.name) or matches(expression, each.frame)
        ]
        cells = [[each.lens.name, amount(each.finding, each.lens), str(each.frame)] for each in self._live_found]
        tables.fill(
            self.query_one("#found", DataTable), ["lens", "amount", "where: findings so far"], cells, self.size.width
        )

    def chosen_frame(self) -> Frame | None:
        if self.view in ("tree", "time"):
            return super().chosen_frame()
        rows: list[Site] | list[Found] = self._live_found if self.view == "found" else self._live_sites
        row = self.query_one(f"#{self.view}", DataTable).cursor_row
        return rows[row].frame if 0 <= row < len(rows) else None

    def show_row(self, view: str, row: int) -> None:
        rows: list[Site] | list[Found] = self._live_found if view == "found" else self._live_sites
        if row < len(rows):
            self.push_screen(Details("\n".join(live_view.details(rows[row])), rows[row].frame, self.edit))

    def action_nothing(self) -> None:
        """Ranges of time are for finished recordings."""

    def action_sort(self, order: str) -> None:
        self._order = order
        self._draw_tables()

    def action_hold(self) -> None:
        """The screen stops, updates go on, so that rates stay those of an interval."""
        self._held = not self._held
        if self._held:
            self.draw_head()
        else:
            self._show_figures()

    def action_module(self) -> None:
        if self.view in ("tree", "time"):
            super().action_module()
        else:
            self.notify("modules filter the tree: 3")

    def action_when(self) -> None:
        self._choose_moment({"end": "now", "peak": "at the peak so far", "total": "over the run so far"})
