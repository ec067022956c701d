"""The screen of a finished recording, driven by textual's own harness: keys that follow each other at once."""

from __future__ import annotations

import asyncio

import pytest
from handmade import Handmade

pytest.importorskip("textual")

from tare.explore.explorer import Explorer
from tare.tui.explore import Explore
from tare.tui.stack_view import StackView
from textual.pilot import Pilot
from textual.widgets import Input


def made() -> Explorer:
    made = Handmade()
    made.blocks(made.stack("fill@a.c:5", "load@a.c:9", "main@a.c:20"), 100, 104, total=30, peak=20, end=2)
    made.blocks(made.stack("grow@b.c:7", "main@a.c:21"), 1000, 1000, total=4, peak=1, end=0)
    return Explorer(made.recording(), has_lives=False)


async def until(pilot: Pilot[None], app: Explore) -> None:
    """All that was asked for is on the screen."""
    for _ in range(1000):
        if app.model is not None and app.shown == app._wanted:
            return
        await pilot.pause(0.01)
    raise AssertionError("the screen isn't up to date")


def test_a_search_begun_at_once_after_another_view_is_opened() -> None:
    app = Explore(made, "made.tare")

    async def play() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, app)
            await pilot.press("3", "slash", *"grow", "enter")
            await until(pilot, app)
            assert app.choice.search == "grow"
            tree = app.query_one(StackView)
            for _ in range(1000):
                frame = tree.frame()
                if frame is not None and frame.name == "grow":
                    break
                await pilot.pause(0.01)
            assert frame is not None and frame.name == "grow", "the cursor is at the match"
            await pilot.press("slash", "escape", "2", "u")
            await until(pilot, app)
            assert (app.view, app.up, app.choice.search) == ("sites", True, "grow")

    asyncio.run(play())


def test_a_search_reaches_its_match_although_the_terminal_changes_meanwhile() -> None:
    app = Explore(made, "made.tare")

    async def play() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, app)
            await pilot.press("3")
            await until(pilot, app)
            tree = app.query_one(StackView)
            app.on_input_submitted(Input.Submitted(app.query_one("#search", Input), "grow"))
            app.update()  # as after a change of the size
            for _ in range(1000):
                frame = tree.frame()
                if frame is not None and frame.name == "grow":
                    break
                await pilot.pause(0.01)
            assert frame is not None and frame.name == "grow"

    asyncio.run(play())
