"""The screen of `tare top`: totals, a table of sites, a table of findings; Enter opens details of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Static

from tare.errors import TareError
from tare.live.live_figures import ORDERS
from tare.reports import live_view
from tare.reports.text_parts import amount
from tare.text.printable import printable

if TYPE_CHECKING:
    from typing import Protocol

    from textual.app import ComposeResult
    from textual.timer import Timer

    from tare.live.live_figures import Figures, Found, Site

    class Eye(Protocol):
        """The reader: live_figures.FiguresReader, or a test."""

        pid: int

        def read(self) -> Figures: ...
        def is_over(self) -> bool: ...


_NAME = 60  # columns of a site's name; the rest of it lies to the right


class Details(ModalScreen[None]):
    """Everything about one row, above the tables."""

    CSS = """
    Details { align: center middle; }
    Details VerticalScroll { width: 90%; height: auto; max-height: 80%; padding: 1 2; border: solid $primary; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "dismiss", "close")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Text("\n".join(map(printable, self._text.splitlines()))), id="details")
        yield Footer()


class Rows(DataTable[Any]):
    """A table whose Enter key is listed at the foot of the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "details")]


class Top(App[None]):
    """Looks from a thread of its own, so that keys answer at once. Ends with `failure` set where looking fails."""

    CSS = """
    #head { height: auto; padding: 0 1; background: $panel; }
    #sites { height: 2fr; }
    #found { height: 1fr; border-top: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("space", "hold", "freeze"),
        *(Binding(order[0], f"sort('{order}')", f"by {order}") for order in ORDERS),
    ]

    def __init__(self, eye: Eye, interval_s: float, order: str) -> None:
        super().__init__()
        self._eye = eye
        self._interval_s = interval_s
        self._order = order
        self._figures: Figures | None = None
        self._timer: Timer | None = None
        self._held = False
        self._sites: list[Site] = []  # the rows on the screen
        self._found: list[Found] = []
        self.failure: TareError | None = None
        self.over = False

    def compose(self) -> ComposeResult:
        yield Static(f"reading process {self._eye.pid} …", id="head")
        yield Rows(id="sites", cursor_type="row", zebra_stripes=True)
        yield Rows(id="found", cursor_type="row")
        yield Footer()

    def on_mount(self) -> None:
        sites = self.query_one("#sites", DataTable)
        for heading, _ in live_view.CELLS:
            sites.add_column(heading, key=heading)
        sites.add_column("site", key="site")
        self.query_one("#found", DataTable).add_columns("lens", "how much", "where", "what to do")
        self._start_reading()

    def _start_reading(self) -> None:
        self.run_worker(self._read, thread=True, exclusive=True)

    def _read(self) -> None:
        """In its thread."""
        try:
            figures = self._eye.read()
        except TareError as error:
            self.call_from_thread(self._stop, error)
            return
        self.call_from_thread(self._take, figures)

    def _stop(self, error: TareError) -> None:
        self.over = self._figures is not None and self._eye.is_over()
        self._timer = None
        if not self.over:
            self.failure = error
            self.exit()
            return
        head = self.query_one("#head", Static)
        head.update(
            Text(f"process {self._eye.pid} has ended; these are the last figures (q quits)\n{self._head()}", "bold")
        )

    def _take(self, figures: Figures) -> None:
        self._figures = figures
        if not self._held:
            self._show()
        self._timer = self.set_timer(max(self._interval_s, figures.rest_s), self._start_reading)

    def _head(self) -> str:
        return (
            ""
            if self._figures is None
            else "\n".join(map(printable, live_view.head(self._figures, max(self.size.width - 2, 40))))
        )

    def _show(self) -> None:
        figures = self._figures
        if figures is None:
            return
        self.query_one("#head", Static).update(Text(self._head()))
        sites = self.query_one("#sites", DataTable)
        sites.border_title = f"by {self._order}"
        at = sites.cursor_row
        sites.clear()
        self._sites = live_view.sorted_sites(figures, self._order, len(figures.sites))
        for site in self._sites:
            cells = (Text(cell(site), justify="right") for _, cell in live_view.CELLS)
            sites.add_row(*cells, Text(printable(str(site.frame))[: 4 * _NAME]))
        sites.move_cursor(row=min(at, max(sites.row_count - 1, 0)))
        found = self.query_one("#found", DataTable)
        line = found.cursor_row
        found.clear()
        self._found = list(figures.found)
        for each in self._found:
            found.add_row(
                each.lens.name,
                Text(amount(each.finding, each.lens), justify="right"),
                Text(printable(str(each.frame))[:_NAME]),
                Text(printable(each.finding.remedy)),
            )
        found.move_cursor(row=min(line, max(found.row_count - 1, 0)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        rows: list[Site] | list[Found] = self._found if event.data_table.id == "found" else self._sites
        if event.cursor_row < len(rows):
            self.push_screen(Details("\n".join(live_view.details(rows[event.cursor_row]))))

    def action_sort(self, order: str) -> None:
        self._order = order
        self._show()

    def action_hold(self) -> None:
        """The screen stops, updates go on, so that rates stay those of an interval."""
        self._held = not self._held
        if not self._held:
            self._show()
