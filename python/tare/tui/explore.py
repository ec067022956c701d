"""The screen of `tare explore`: findings, sites, the tree of stacks and the timeline of one recording, all by keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Event, Key
from textual.widgets import DataTable, Footer, Input, Static
from textual.widgets.input import Selection

from tare.analysis.languages import remedy
from tare.errors import TareError
from tare.explore import course
from tare.explore.choice import Choice, When
from tare.explore.explorer import compiled
from tare.progress import Display
from tare.reports.text_parts import wrapped
from tare.text.printable import printable
from tare.text.terminal import shorten_path
from tare.text.units import plural
from tare.tui import editor, tables
from tare.tui.choices import KEYS, Choices
from tare.tui.choosing import Details
from tare.tui.stack_view import StackView
from tare.tui.timeline import Timeline
from tare.tui.words import signed_in_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from tare.analysis.finding_changes import FindingChange
    from tare.analysis.worth import Whole
    from tare.explore.explorer import Explorer, Matching, SiteRow
    from tare.explore.graph import Sums
    from tare.naming.names import Frame

MOST_SITES = 500
_BOTH = 30  # rows of the terminal from which findings and sites are shown together
_VIEWS = ("found", "sites", "tree", "time")


class Words(Display):
    """The task that is computed."""

    words = "reading"

    def update(self, task: str, started: bool, share: float, detail: str) -> None:
        self.words = f"{task} {100 * min(share, 1.0):.0f}%" if share >= 0 else task


class Explore(Choices):
    """All computations run in a thread, one after the other, so that keys answer at once."""

    CSS = """
    #head { height: auto; padding: 0 1; background: $panel; }
    DataTable { height: 1fr; }
    DataTable > .datatable--cursor { text-style: reverse; }
    #remedy { height: auto; max-height: 8; padding: 0 1; border-top: solid $primary; }
    #search { display: none; height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "keys", "all keys", key_display="?"),
        *(Binding(str(number), f"view('{view}')", view, show=False) for number, view in enumerate(_VIEWS, start=1)),
        Binding("tab", "next_view", "views", key_display="1-4", priority=True),
        Binding("slash", "search", "search", key_display="/"),
        Binding("n", "next_match", "next", show=False),
        Binding("e", "edit", "editor"),
        Binding("m", "measure", "measure"),
        Binding("w", "when", "when"),
        Binding("f", "module", "module", show=False),
        Binding("t", "thread", "thread", show=False),
        Binding("o", "own", "own code", show=False),
        Binding("u", "turn", "up/down", show=False),
        Binding("v", "life", "range", show=False),
        Binding("x", "reset", "reset", show=False),
        Binding("q", "quit", "quit"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, explorer: Callable[[], Explorer], title: str) -> None:
        """`explorer` opens the recording, in a thread."""
        super().__init__()
        self._open = explorer
        self._named = title
        self.progress = Words()
        self.up = False
        self.view = "found"
        self.failure: TareError | None = None
        self.shown = 0  # changes that are on the screen: tests wait for it
        self._wanted = 0
        self._whole: Whole | None = None
        self._changes: list[FindingChange] = []  # rows on the screen
        self._sites: list[SiteRow] = []
        self._total: Sums | None = None
        self._when = ""
        self._found: Matching | None = None
        self._sought = ""  # a search whose first match the tree goes to when it is shown
        self._steps_drawn = False  # the timeline without intervals

    # -- screen

    def compose(self) -> ComposeResult:
        yield Static(f"reading {self._named} …", id="head")
        yield from self.compose_views()
        yield Static(id="remedy")
        # Focus arrives after the first keys: selecting then would lose them.
        yield Input(placeholder="regular expression; empty: none", id="search", select_on_focus=False)
        yield Footer()

    def compose_views(self) -> ComposeResult:
        yield DataTable(id="found", cursor_type="row")
        yield DataTable(id="sites", cursor_type="row")
        yield StackView()
        yield Timeline()

    def on_mount(self) -> None:
        self._show_view()
        self.start()

    def start(self) -> None:
        self.set_interval(0.2, self._show_progress)
        self.run_worker(self._begin, thread=True)

    def _show_progress(self) -> None:
        """In the place of the filters while something is computed."""
        if self._wanted == self.shown and self.model is not None:
            return
        lines = self.head() if self._total is not None else [self._named]
        self.query_one("#head", Static).update(Text("\n".join(map(printable, [*lines, f"{self.progress.words} …"]))))

    def _begin(self) -> None:
        """In its thread."""
        try:
            with self._lock:
                self.model = self._open()
        except TareError as error:
            self.call_from_thread(self._fail, error)
            return
        self.call_from_thread(self.update)

    def _fail(self, error: TareError) -> None:
        self.failure = error
        self.exit()

    def on_resize(self) -> None:
        """The application's own handler, which runs after this one, sets its size."""
        self.call_next(self._show_view)
        self.call_next(self.update)

    def _show_view(self) -> None:
        both = self.view in ("found", "sites") and self.size.height >= _BOTH
        for view in _VIEWS:
            self.query_one(f"#{view}").display = view == self.view or (both and view in ("found", "sites"))
        self.query_one("#remedy").display = self.view == "found"
        if not self.query_one("#search").has_focus:
            self._focus_view()

    def _focus_view(self) -> None:
        """At once, as all changes of the focus: a deferred one would take it away from a search that was begun meanwhile."""
        self.screen_stack[0].set_focus(self.query_one(f"#{self.view}"))

    def update(self) -> None:
        """Computes what the screen shows, and draws it."""
        if self.model is None:
            return
        self.choice = self.model.fitting(self.choice)
        self._wanted += 1
        self.run_worker(self._compute(self._wanted, self.choice, self.view, self.up), thread=True)

    def _compute(self, wanted: int, choice: Choice, view: str, up: bool) -> Callable[[], None]:
        def work() -> None:
            with self._lock:
                if wanted != self._wanted or self.model is None:
                    return  # a later choice waits
                try:
                    made = self.read(self.model, choice, view, up)
                except TareError as error:
                    self.call_from_thread(self.notify, error.message, severity="error")
                    return
            self.call_from_thread(self._draw, wanted, made)

        return work

    def read(self, model: Explorer, choice: Choice, view: str, up: bool) -> dict[str, Any]:
        """In its thread: the data of the views that are on the screen."""
        made: dict[str, Any] = {"total": model.total(choice), "when": self.words(model, choice)}
        if view in ("found", "sites"):
            made["found"] = model.findings()
            made["sites"] = model.sites(choice, MOST_SITES)
        elif view == "tree":
            made["tree"] = model.graph(choice, up=up)
        else:
            # Intervals take another walk over the trace: a first picture comes from rows that the report has.
            made["exact"] = exact = model.has_lives and self._steps_drawn
            made["time"] = model.course() if exact else course.by_timeline(model.recording)
            made["rss"] = model.rss_readings()
            if model.baseline is not None:
                made["before"] = course.by_timeline(model.baseline)
        return made

    def words(self, model: Explorer, choice: Choice) -> str:
        return model.words(choice.when)

    def _draw(self, wanted: int, made: dict[str, Any]) -> None:
        if wanted != self._wanted or self.model is None or not self.query("#tree"):  # the screen may have gone
            return
        self._total, self._when = made["total"], made["when"]
        compares = self.model.compares(self.choice)
        unit = self.model.measures[self.choice.measure].unit
        if "found" in made:
            self.draw_found(*made["found"])
        if "sites" in made:
            self.draw_sites(*made["sites"])
        if "tree" in made:
            graph, self._found = made["tree"]
            self.query_one(StackView).show(graph, unit, self._found, compares=compares)
            # Also where another change, such as of the terminal's size, came between the search and its result.
            if self._sought and self._sought == self.choice.search:
                self._sought = ""
                self.call_after_refresh(self.action_next_match)
        if "time" in made:
            when = self.choice.when
            timeline = self.query_one(Timeline)
            timeline.chosen = (when.begin, when.end) if when.moment == "range" and when.life != "live" else None
            peak_ns = self.model.recording.process["peak_time_ns"] or 0
            more_comes = self.model.has_lives and not made["exact"]
            timeline.readings = made["rss"]
            timeline.show(
                made["time"], made.get("before", []), peak_ns, can_choose=made["exact"], more_comes=more_comes
            )
            if more_comes:
                self._steps_drawn = True
                self.call_after_refresh(self.update)
        self.query_one("#head", Static).update(Text("\n".join(map(printable, self.head()))))
        self.shown = wanted

    def head(self) -> list[str]:
        """The lines above the view: the program, the sum and its time, filters."""
        assert self.model is not None and self._total is not None
        width = max(self.size.width - 2, 40)
        measure = self.model.measures[self.choice.measure]
        compares = self.model.compares(self.choice)
        lines = [self.model.recording.title]
        lines += wrapped(tables.live_line(self._total, measure.unit, measure.label, self._when, compares), width)
        filters = []
        if self.choice.module:
            filters.append(f"module {shorten_path(self.choice.module, 40)}")
        if self.choice.thread is not None:
            filters.append(f"thread {self.choice.thread}")
        if self.choice.own_only:
            filters.append("own code only")
        if self.choice.search:
            text = f"search /{self.choice.search}/"
            if compiled(self.choice.search) is None:
                text += " isn't a regular expression"
            elif self.view == "tree" and self._found:
                text += f": {signed_in_unit(self._found.amount, measure.unit)} in stacks that match"
            filters.append(text)
        return [*lines, *wrapped("; ".join(filters), width)] if filters else lines

    def draw_found(self, whole: Whole, changes: list[FindingChange]) -> None:
        assert self.model is not None
        compares = self.model.baseline is not None
        expression = compiled(self.choice.search)
        self._whole = whole
        self._changes = [
            each
            for each in changes
            if expression is None
            or any(
                map(
                    expression.search,
                    (each.shown.lens.name, str(each.shown.frame), each.shown.frame.file, each.shown.frame.module),
                )
            )
        ]
        heads = [
            *(["change"] if compares else []),
            "lens",
            "gain",
            "amount",
            f"where ({plural(len(self._changes), 'finding')})",
        ]
        rows = [tables.finding_cells(each, whole, compares) for each in self._changes]
        tables.fill(self.query_one("#found", DataTable), heads, rows, self.size.width)
        self.draw_remedy()

    def draw_remedy(self) -> None:
        """Of the finding in the cursor's row."""
        if not self.query("#remedy"):  # the screen may have gone
            return
        row = self.query_one("#found", DataTable).cursor_row
        remedies = self.remedies()
        text = (
            remedies[row]
            if 0 <= row < len(remedies)
            else "No finding matches."
            if self.choice.search
            else "No finding is above a lens's threshold."
        )
        self.query_one("#remedy", Static).update(Text(printable(text)))

    def remedies(self) -> list[str]:
        return [remedy(each.shown.finding, each.shown.frame) for each in self._changes]

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if event.data_table.id == "found":
            self.draw_remedy()

    def draw_sites(self, sites: list[SiteRow], count: int) -> None:
        assert self.model is not None and self._total is not None
        compares = self.model.compares(self.choice)
        measure = self.model.measures[self.choice.measure]
        self._sites = sites
        heads = tables.site_heads(measure.label, compares)
        more = f" of {count:,}" if count > len(sites) else ""
        heads[-1] = f"site ({len(sites)}{more})"
        rows = [tables.site_cells(each, self._total, measure.unit, compares) for each in sites]
        tables.fill(self.query_one("#sites", DataTable), heads, rows, self.size.width)

    # -- acts

    def action_view(self, view: str) -> None:
        self.view = view
        self._show_view()
        self.update()

    def action_next_view(self) -> None:
        if self.screen is self.screen_stack[0]:
            self.action_view(_VIEWS[(_VIEWS.index(self.view) + 1) % len(_VIEWS)])

    def action_search(self) -> None:
        search = self.query_one("#search", Input)
        search.value = self.choice.search
        search.display = True
        self.screen.set_focus(search)
        search.selection = Selection(0, len(search.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.input.display = False
        self._focus_view()
        self._sought = event.value if self.view == "tree" else ""
        self.change(search=event.value)

    async def on_event(self, event: Event) -> None:
        """While a search is asked for, keys are its own. A view that is hidden meanwhile takes the focus away."""
        if isinstance(event, Key) and len(self.screen_stack) == 1:
            search = self.query_one("#search")
            if search.display:
                self.screen.set_focus(search)
        await super().on_event(event)

    def on_key(self, event: Any) -> None:
        search = self.query_one("#search", Input)
        if event.key == "escape" and search.has_focus:
            search.display = False
            self._focus_view()

    def action_next_match(self) -> None:
        if self.view == "tree" and not self.query_one(StackView).next_match():
            self.notify("no function matches")

    def action_turn(self) -> None:
        self.up = not self.up
        self.update()

    def on_timeline_chosen(self, event: Timeline.Chosen) -> None:
        if event.begin is None:
            self.change(when=When("range", "live", -1, event.end))
            return
        life = self.choice.when.life if self.choice.when.begin >= 0 else "born"
        self.change(when=When("range", life, event.begin, event.end))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        self.show_row(event.data_table.id or "", event.cursor_row)

    def show_row(self, view: str, row: int) -> None:
        """The details of a finding or a site."""
        width = max(self.size.width * 96 // 100 - 6, 40)
        model = self.model
        if model is None:
            return
        if view == "found" and row < len(self._changes) and self._whole:
            change, whole = self._changes[row], self._whole
            recording = model.recording if change.after else model.baseline or model.recording
            self._detail(
                lambda: "\n".join(
                    tables.finding_details(
                        change,
                        whole,
                        recording.by_line.site_stacks([change.shown.finding.site_id]).get(
                            change.shown.finding.site_id, []
                        ),
                        width,
                    )
                ),
                change.shown.frame,
            )
        elif view == "sites" and row < len(self._sites):
            site, unit = self._sites[row], model.measures[self.choice.measure].unit
            self._detail(lambda: "\n".join(tables.site_details(site, unit, model.facts(site), width)), site.frame)

    def _detail(self, text: Callable[[], str], frame: Frame) -> None:
        def work() -> None:
            with self._lock:
                made = text()
            self.call_from_thread(self._push, Details(made, frame, self.edit))

        self.run_worker(work, thread=True)

    def _push(self, screen: Details) -> None:
        self.push_screen(screen)

    def chosen_frame(self) -> Frame | None:
        """The line that `e` opens."""
        if self.view == "tree":
            return self.query_one(StackView).frame()
        if self.view == "time":
            return None
        row = self.query_one(f"#{self.view}", DataTable).cursor_row
        rows = (
            [each.shown.frame for each in self._changes]
            if self.view == "found"
            else [each.frame for each in self._sites]
        )
        return rows[row] if 0 <= row < len(rows) else None

    def action_edit(self) -> None:
        self.edit(self.chosen_frame())

    def edit(self, frame: Frame | None) -> None:
        problem = editor.obstacle(frame)
        if not problem and frame is not None:
            with self.suspend():
                problem = editor.run(frame)
        if problem:
            self.notify(problem, severity="warning")

    def action_keys(self) -> None:
        self.push_screen(Details(KEYS.strip(), None, self.edit))
