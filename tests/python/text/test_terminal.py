"""Width, colour and shortening."""

from __future__ import annotations

import io
import time

import pytest
from tare.progress import Progress, shown_by, warn
from tare.text.printable import PrintableStream
from tare.text.terminal import Style, TerminalDisplay, shorten, shorten_path, width_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_has_no_colour_and_a_fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert Style(io.StringIO())("x", "bold") == "x"
    assert width_of(io.StringIO()) == 120


def test_columns_and_no_color_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert width_of(Terminal()) == 72
    screen = Terminal()
    PrintableStream(screen).write(Style(screen)("x", "bold"))
    assert screen.getvalue() == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Style(Terminal())("x", "bold") == "x"


def test_long_names_are_cut_in_the_middle_and_paths_from_the_left() -> None:
    assert shorten("short", 10) == "short"
    cut = shorten("std::vector<int>::push_back(int const&)", 20)
    assert len(cut) == 20 and cut.startswith("std::") and cut.endswith("const&)")
    assert shorten_path("/usr/src/app/main.c", 12) == "…/app/main.c"
    assert shorten_path("x" * 30, 10) == "…" + "x" * 9


def test_progress_waits_a_second_and_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", PrintableStream(screen))
    display = TerminalDisplay()
    with shown_by(display), Progress("reading") as progress:
        progress.update(0.1)
        assert screen.getvalue() == ""
        display._next_draw = 0
        progress.update(0.5)
        assert "50%" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with shown_by(display), Progress("reading") as silent:
        display._next_draw = 0
        silent.update(0.5)
        assert not display._drawn


def test_a_task_that_reports_nothing_is_named_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", PrintableStream(screen))
    with shown_by(TerminalDisplay()), Progress("adding up"):
        for _ in range(500):
            if screen.getvalue():
                break
            time.sleep(0.02)
        assert "tare: adding up …" in screen.getvalue()
    shown = screen.getvalue()
    assert shown.endswith("\r\x1b[K")
    with shown_by(TerminalDisplay()), Progress("a short task"):
        pass
    time.sleep(1.2)
    assert screen.getvalue() == shown


def test_without_a_display_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("reading") as progress:
        progress.update(0.5)
        warn("the trace is damaged")
    assert capsys.readouterr() == ("", "")
    with shown_by(TerminalDisplay()):
        warn("the trace is damaged")
    assert capsys.readouterr() == ("", "tare: the trace is damaged\n")
