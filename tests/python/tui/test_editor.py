"""Command lines of editors."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("textual")

from tare.naming.names import Frame
from tare.tui import editor


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("", ["vi", "+7", "/a b.c"]),
        ("nano -w", ["nano", "-w", "+7", "/a b.c"]),
        ("/usr/bin/code --wait", ["/usr/bin/code", "--wait", "--goto", "/a b.c:7"]),
        ("hx", ["hx", "/a b.c:7"]),
        ("'my editor' -x", ["my editor", "-x", "+7", "/a b.c"]),
    ],
)
def test_each_editor_gets_the_line_in_its_form(setting: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", setting)
    assert editor.command("/a b.c", 7) == words


def test_visual_is_first_and_a_line_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "nano")
    monkeypatch.setenv("VISUAL", "vim")
    assert editor.command("/a.c", None) == ["vim", "/a.c"]


def test_lines_that_cannot_be_opened_have_a_reason(tmp_path: Path) -> None:
    frame = Frame("f", "f", "", None, "/bin/app", 0)
    assert "no debug information" in editor.obstacle(frame)
    assert "isn't on this machine" in editor.obstacle(frame._replace(file="/no/such.c", line=3))
    assert editor.obstacle(None)
    (tmp_path / "a.c").write_text("")
    assert editor.obstacle(frame._replace(file=str(tmp_path / "a.c"))) == ""


def test_an_editor_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(tmp_path / "none"))
    frame = Frame("f", "f", "/a.c", 1, "", None)
    assert "set $EDITOR" in editor.run(frame)
    monkeypatch.setenv("EDITOR", "false")
    assert editor.run(frame) == "false ended with status 1"
