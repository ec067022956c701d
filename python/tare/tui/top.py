"""The screen of `tare top`: figures above, sites in a table, findings below; keys choose the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Static

from tare.errors import TareError
from tare.live_looks import ORDERS
from tare.printable import printable
from tare.reports import live_view
from tare.reports.text_parts import amount

if TYPE_CHECKING:
    from typing import Protocol

    from textual.app import ComposeResult
    from textual.timer import Timer

    from tare.live_looks import Look

    class Eye(Protocol):
        """Who looks: live_looks.Looker, or a test."""

        pid: int

        def look(self) -> Look: ...
        def is_over(self) -> bool: ...


_NAME = 60  # columns of a site's name; the rest of it lies to the right


class Top(App[None]):
    """Looks from a thread of its own, so that keys answer at once. Ends with `failure` set where looking fails."""

    CSS = """
    #head { height: auto; padding: 0 1; background: $panel; }
    #sites { height: 2fr; }
    #found { height: 1fr; border-top: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("space", "hold", "hold"),
        *(Binding(order[0], f"sort('{order}')", f"by {order}") for order in ORDERS),
    ]

    def __init__(self, eye: Eye, interval_s: float, order: str) -> None:
        super().__init__()
        self._eye = eye
        self._interval_s = interval_s
        self._order = order
        self._look: Look | None = None
        self._timer: Timer | None = None
        self._held = False
        self.failure: TareError | None = None
        self.over = False

    def compose(self) -> ComposeResult:
        yield Static(f"looking at process {self._eye.pid} …", id="head")
        yield DataTable(id="sites", cursor_type="row", zebra_stripes=True)
        yield DataTable(id="found", cursor_type="row")
        yield Footer()

    def on_mount(self) -> None:
        sites = self.query_one("#sites", DataTable)
        for heading, _ in live_view.CELLS:
            sites.add_column(heading, key=heading)
        sites.add_column("site", key="site")
        self.query_one("#found", DataTable).add_columns("lens", "how much", "where", "what to do")
        self._start_look()

    def _start_look(self) -> None:
        self.run_worker(self._take_look, thread=True, exclusive=True)

    def _take_look(self) -> None:
        """In its thread."""
        try:
            look = self._eye.look()
        except TareError as error:
            self.call_from_thread(self._stop, error)
            return
        self.call_from_thread(self._take, look)

    def _stop(self, error: TareError) -> None:
        self.over = self._look is not None and self._eye.is_over()
        self._timer = None
        if not self.over:
            self.failure = error
            self.exit()
            return
        head = self.query_one("#head", Static)
        head.update(Text(f"process {self._eye.pid} has ended; this is the last look (q quits)\n{self._head()}", "bold"))

    def _take(self, look: Look) -> None:
        self._look = look
        if not self._held:
            self._show()
        self._timer = self.set_timer(max(self._interval_s, look.rest_s), self._start_look)

    def _head(self) -> str:
        return (
            ""
            if self._look is None
            else "\n".join(map(printable, live_view.head(self._look, max(self.size.width - 2, 40))))
        )

    def _show(self) -> None:
        look = self._look
        if look is None:
            return
        self.query_one("#head", Static).update(Text(self._head()))
        sites = self.query_one("#sites", DataTable)
        sites.border_title = f"by {self._order}"
        at = sites.cursor_row
        sites.clear()
        for site in live_view.sorted_sites(look, self._order, len(look.sites)):
            cells = (Text(cell(site), justify="right") for _, cell in live_view.CELLS)
            sites.add_row(*cells, Text(printable(str(site.frame))[: 4 * _NAME]))
        sites.move_cursor(row=min(at, max(sites.row_count - 1, 0)))
        found = self.query_one("#found", DataTable)
        found.clear()
        for each in look.found:
            found.add_row(
                each.lens.name,
                Text(amount(each.finding, each.lens), justify="right"),
                Text(printable(str(each.frame))[:_NAME]),
                Text(printable(each.finding.remedy)),
            )

    def action_sort(self, order: str) -> None:
        self._order = order
        self._show()

    def action_hold(self) -> None:
        """Figures stand still; looks go on, so that rates stay those of an interval."""
        self._held = not self._held
        if not self._held:
            self._show()
