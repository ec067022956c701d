"""The screen of a recording in progress (`tare top`, `tare explore PID`), driven by textual's own harness."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from handmade import Handmade
from tare.analysis.languages import remedy
from tare.errors import CANNOT_RECORD, TareError
from tare.live.live_figures import Figures, Judge

pytest.importorskip("textual")

from tare.tui.choosing import Details
from tare.tui.live import Live
from tare.tui.stack_view import StackView
from textual.pilot import Pilot
from textual.widgets import DataTable, Static


class Eye:
    """Sees a program whose cache grows by 100 blocks a reading, until its end."""

    pid = 4711

    def __init__(self) -> None:
        self.taken = 0
        self.over = False
        self.failure = "the launcher didn't answer"
        self._judge = Judge()
        self.seen = threading.Event()

    def read(self) -> Figures:
        self.seen.set()
        if self.over or self.taken < 0:
            raise TareError(CANNOT_RECORD, self.failure)
        self.taken += 1
        made = Handmade(depth=1, duration_ns=self.taken * 1_000_000_000)
        cached = 100 * self.taken
        made.blocks(made.stack("fill_cache@cache.c:7", "main"), 1000, 1000, total=cached, peak=cached, end=cached)
        calls = 5000 * self.taken
        made.blocks(made.stack("parse@parse.c:9", "main"), 20, 24, total=calls, freed_within_16=calls, freed_later=0)
        return self._judge.read(made)

    def is_over(self) -> bool:
        return self.over


def drive(eye: Eye, script: Callable[[Live, Pilot[None]], Awaitable[None]], interval_s: float = 0.01) -> Live:
    app = Live(eye, interval_s, "live")

    async def play() -> None:
        async with app.run_test(size=(110, 30)) as pilot:
            await script(app, pilot)

    asyncio.run(play())
    return app


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("it didn't come to that")


def column(app: Live, table: str, number: int) -> list[str]:
    rows = app.query_one(table, DataTable)
    return [str(rows.get_row_at(row)[number]) for row in range(rows.row_count)]


def head(app: Live) -> str:
    return str(app.query_one("#head", Static).content)


def test_figures_sites_and_findings_are_shown_and_go_on() -> None:
    eye = Eye()

    async def script(app: Live, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(column(app, "#sites", 5)))
        assert "app (pid 4711)" in head(app)
        assert column(app, "#sites", 5)[0] == "fill_cache (cache.c:7)"
        assert "churn" in column(app, "#found", 0)
        before = column(app, "#sites", 0)[0]
        await until(pilot, lambda: column(app, "#sites", 0)[0] != before)
        await pilot.press("q")

    app = drive(eye, script)
    assert app.failure is None
    assert eye.taken >= 2


@pytest.mark.slow
def test_keys_choose_the_order_and_hold_the_figures() -> None:
    async def script(app: Live, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(column(app, "#sites", 5)))
        await pilot.press("r")
        await until(pilot, lambda: column(app, "#sites", 5)[:1] == ["parse (parse.c:9)"])
        await pilot.press("space")
        taken = eye.taken
        await until(pilot, lambda: eye.taken > taken + 1)  # one that began before the key is shown
        held, taken = head(app), eye.taken
        await until(pilot, lambda: eye.taken > taken + 2)
        assert head(app) == held
        await pilot.press("space")
        await until(pilot, lambda: head(app) != held)

    eye = Eye()
    drive(eye, script)


@pytest.mark.slow
def test_arrows_move_and_enter_opens_the_details() -> None:
    async def script(app: Live, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(column(app, "#sites", 5)))
        await pilot.press("space", "down")
        assert app.query_one("#sites", DataTable).cursor_row == 1
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Details))
        assert "parse (parse.c:9)" in details(app)
        await pilot.press("escape", "1", "enter")
        await until(pilot, lambda: isinstance(app.screen, Details))
        assert remedy(app._live_found[0].finding, app._live_found[0].frame) in details(app), (
            "the whole remedy, however long"
        )
        await pilot.press("enter")
        assert not isinstance(app.screen, Details)

    drive(Eye(), script)


def details(app: Live) -> str:
    return str(app.screen.query_one("#details", Static).content)


def test_the_last_figures_stay_when_the_program_ends() -> None:
    eye = Eye()

    async def script(app: Live, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(column(app, "#sites", 5)))
        eye.over = True
        await until(pilot, lambda: "has ended" in head(app))
        assert "allocations/s" in head(app)
        assert column(app, "#sites", 5)
        await pilot.press("q")

    app = drive(eye, script)
    assert (app.over, app.failure) == (True, None)


def test_a_reading_that_fails_ends_the_screen_with_its_reason() -> None:
    eye = Eye()
    eye.taken = -1

    async def script(app: Live, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.failure is not None)

    app = drive(eye, script)
    assert app.failure is not None
    assert app.failure.message == "the launcher didn't answer"


@pytest.mark.slow
def test_the_tree_and_a_search_are_of_now() -> None:
    async def script(app: Live, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(column(app, "#sites", 5)))
        await pilot.press("slash", *"cache", "enter")
        await until(pilot, lambda: len(column(app, "#sites", 5)) == 1)
        await pilot.press("x", "3")
        tree = app.query_one(StackView)
        await until(pilot, lambda: bool(tree.rows))
        assert tree.graph is not None
        assert tree.graph.name(tree.graph.below(tree.graph.root)[0]) == "main"
        assert "gross now" in head(app)
        whole = tree.graph.root.sums.now
        await until(pilot, lambda: tree.graph is not None and tree.graph.root.sums.now > whole)

    drive(Eye(), script)
