"""The choices of the reader: a measure, a time, filters; each key opens a list or changes one of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from textual.app import App

from tare.explore.choice import LIVES, Choice, When
from tare.text.terminal import shorten_path
from tare.tui.choosing import Chooser
from tare.tui.words import signed_in_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.explore.choice import Moment
    from tare.explore.explorer import Explorer

KEYS = """
1 2 3 4     findings, sites, tree, timeline; Tab: the next
arrows      move; PgUp, PgDn, Home, End
Enter       details of a finding or a site; open or close a function
e           open the line in $VISUAL or $EDITOR
/           search: a regular expression over functions, files, modules and lenses; empty: no search
n           tree: the next function that matches
m           measure: gross, requested, slop, blocks, tare, byte-seconds
w           when: at the peak, at the end, over the whole run
f           only allocations of one module (file of code)
t           only allocations of one thread
o           only own code: foreign frames belong to their nearest own caller
u           tree: from callers down, or from allocating functions up
z Backspace tree: the chosen function as the root, and back
← →         timeline: the cursor; with Shift ten steps
[ ]         timeline: begin and end of a range; ] or Enter alone: one time
v           of a range: live at its end, allocated in it, kept, freed
x           no filters, no search, at the peak
q           quit
"""


class Choices(App[None]):
    """A part of Explore."""

    def __init__(self) -> None:
        super().__init__()
        self.model: Explorer | None = None
        self.choice = self.first_choice()
        self._lock = threading.Lock()  # of the model: one computation at a time

    def update(self) -> None:
        """Computes what the screen shows, and draws it."""
        raise NotImplementedError

    def change(self, **values: Any) -> None:
        self.choice = self.choice._replace(**values)
        self.update()

    def action_reset(self) -> None:
        self.choice = self.first_choice()
        self.update()

    def first_choice(self) -> Choice:
        return Choice()

    def action_measure(self) -> None:
        if self.model is not None:
            items = [(each.key, each.label) for each in self.model.measures_of(self.choice)]
            self._choose("measure", items, self.choice.measure, lambda key: self.change(measure=key))

    def action_when(self) -> None:
        self._choose_moment({"peak": "at the peak", "end": "at the end", "total": "over the whole run"})

    def _choose_moment(self, moments: dict[Moment, str]) -> None:
        of: dict[str, Moment] = {moment: moment for moment in moments}
        items: list[tuple[str, str]] = [*moments.items()]
        title = "when (a time or a range: the timeline, 4)"
        self._choose(title, items, self.choice.when.moment, lambda key: self.change(when=When(of[key])))

    def action_life(self) -> None:
        when = self.choice.when
        if when.moment != "range" or when.begin < 0:
            self.notify("choose a range on the timeline first: 4, then [ and ]")
            return
        names = list(LIVES)
        self.change(when=when._replace(life=names[(names.index(when.life) + 1) % len(names)]))

    def action_module(self) -> None:
        model, choice = self.model, self.choice
        if model is not None:
            unit = model.measures[choice.measure].unit
            self._ask(
                lambda: (
                    [("", "all modules")]
                    + [
                        (path, f"{signed_in_unit(amount, unit):>11}  {shorten_path(path, 60)}")
                        for path, amount in model.modules(choice)
                    ]
                ),
                "only allocations of one module",
                choice.module,
                lambda key: self.change(module=key),
            )

    def action_thread(self) -> None:
        model = self.model
        if model is None:
            return
        if not model.has_lives:
            self.notify("threads of blocks are known of finished recordings with times", severity="warning")
            return
        self._ask(
            lambda: (
                [("", "all threads")]
                + [
                    (str(number), f"thread {number:<6} {count:>14,.0f} allocations")
                    for number, count in model.threads()
                ]
            ),
            "only allocations of one thread",
            "" if self.choice.thread is None else str(self.choice.thread),
            lambda key: self.change(thread=int(key) if key else None),
        )

    def _ask(
        self, items: Callable[[], list[tuple[str, str]]], title: str, chosen: str, then: Callable[[str], None]
    ) -> None:
        """The items take a query."""

        def work() -> None:
            with self._lock:
                found = items()
            self.call_from_thread(self._choose, title, found, chosen, then)

        self.run_worker(work, thread=True)

    def _choose(self, title: str, items: list[tuple[str, str]], chosen: str, then: Callable[[str], None]) -> None:
        self.push_screen(Chooser(title, items, chosen), lambda key: None if key is None else then(key))

    def action_own(self) -> None:
        self.change(own_only=not self.choice.own_only)
