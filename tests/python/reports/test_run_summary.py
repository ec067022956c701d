"""The summary of a run: one screen, with what to do and where to go on."""

from __future__ import annotations

import io

import pytest
from handmade import Handmade, names_that_need
from tare.reports.run_summary import Image, subject, summary
from tare.text.terminal import Style


def lines(made: Handmade, *others: Image, width: int = 100) -> list[str]:
    first = Image("my traces/app.tare", "app", 4711, 71_500, 20_000)
    return list(summary(made.recording(), [first, *others], Style(io.StringIO()), width))


def test_it_says_who_how_much_what_and_where(busy: Handmade) -> None:
    text = "\n".join(lines(busy))
    for words in (
        "tare: app (pid 4711), glibc, 71.5 k events in 2.00 s",
        "gross at 1.00 s = net 872 KiB + tare 553 KiB (38.8%)",
        "slop 394 KiB, headers 159 KiB",
        "1. peak -27.6%  arena_grow arena.c:40",
        "394 KiB (exact); slop; clownshoe; one line; confidence high",
        "2. peak -10.7%  new_node tree.c:9",
        "below 1% of both: churn 1, growth 1",
        "largest at the peak: arena_grow arena.c:40 56%",
        f"not looked for: {', '.join(names_that_need('snapshots'))} (tare run",
        "trace: my traces/app.tare (19.5 KiB)",
        "tare report 'my traces/app.tare'",
    ):
        assert words in text


def test_it_is_one_screen_however_much_is_found(busy: Handmade) -> None:
    for number in range(50):
        stack = busy.stack(f"f{number}", "main")
        busy.blocks(stack, 1032, 2040, total=5000, peak=100, end=50, freed_within_16=4900)
        busy.blocks(stack, 16, 24, total=5000, peak=1000)
    others = [Image(f"app.tare.{pid}", "child", pid, pid, 1) for pid in range(100)]
    assert len(lines(busy, *others)) <= 32


def test_it_fits_a_narrow_terminal(busy: Handmade) -> None:
    busy.warnings = ["something that is well worth knowing before anybody believes a word of it"]
    others = [Image(f"my traces/app.tare.{pid}", "a-child", pid, pid, 1) for pid in range(100, 110)]
    for width in (40, 64, 100):
        for line in lines(busy, *others, width=width):
            assert len(line) <= width, line
    assert any("tare sql" in line for line in lines(busy, width=40))


def test_processes_are_listed_largest_first(busy: Handmade) -> None:
    text = "\n".join(lines(busy, Image("app.tare.1", "sh", 1, 10, 5), Image("app.tare.2", "cc1", 2, 99_999, 5)))
    assert "2 more recorded" in text
    assert text.index("cc1 (pid 2)") < text.index("sh (pid 1)")


def test_a_driver_gives_way_to_the_program_it_started() -> None:
    driver = Image("g.tare", "g++", 1, 423, 9)
    compiler = Image("g.tare.2", "cc1plus", 2, 565_000, 9)
    helper = Image("g.tare.3", "as", 3, 4_000, 9)
    assert subject([driver, compiler, helper]) is compiler
    assert subject([compiler, driver, helper]) is compiler
    assert subject([helper, compiler._replace(events=39_000)]) is helper
    assert subject([driver._replace(events=0), helper._replace(events=900)]).program == "g++"


def test_a_program_that_allocates_nothing(made: Handmade) -> None:
    assert any("do first: no finding gains 1%" in line for line in lines(made))


def test_functions_without_names_are_said_to_want_debug_symbols(
    made: Handmade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.path.exists", lambda path: path == "/bin/app")
    made.blocks(made.stack("?f", "main"), 16, 24, total=5000, peak=1000)
    assert len([line for line in lines(made) if "install debug symbols" in line]) == 1


def test_names_of_a_container_are_said_to_want_its_root(made: Handmade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.exists", lambda _path: False)
    made.blocks(made.stack("?f", "main"), 16, 24, total=5000, peak=1000)
    (note,) = (line for line in lines(made, width=400) if "file+offset" in line)
    assert "app isn't in this file system" in note and "TARE_SYMBOLS" in note


def test_holders_without_names_are_explained_where_no_finding_is(
    made: Handmade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.path.exists", lambda path: path == "/bin/app")
    made.blocks(made.stack("?f", "main"), 1 << 20, 1 << 20, total=1, peak=1)
    shown = lines(made)
    assert any("do first: no finding" in line for line in shown)
    assert len([line for line in shown if "install debug symbols" in line]) == 1


def test_a_single_event_is_one(busy: Handmade) -> None:
    text = "\n".join(lines(busy, Image("app.tare.1", "sh", 1, 1, 5), Image("app.tare.2", "sh", 2, 2, 5)))
    assert "(pid 1), 1 event: app.tare.1" in text
    assert "(pid 2), 2 events: app.tare.2" in text


def test_a_recording_without_an_event_says_what_that_may_mean() -> None:
    """As of a program under valgrind, which brings a malloc of its own."""
    nothing = Handmade(events=0)
    assert any("no allocation was recorded" in line for line in lines(nothing))
    assert all(len(line) <= 40 for line in lines(nothing, width=40))


def test_a_recording_with_events_does_not(busy: Handmade) -> None:
    assert not any("no allocation was recorded" in line for line in lines(busy))
