"""Suppressions: what their lines mean, and which stacks they fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tare.errors import TareError
from tare.naming.names import Frame
from tare.naming.suppressions import Matcher, load, parse


def frame(function: str = "", file: str = "", module: str = "") -> Frame:
    return Frame(function, "", file, None, module, None)


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("open_font", True),
        ("font", True),
        ("open*xml", False),
        ("open*font", True),
        ("^open", True),
        ("^font", False),
        ("font$", True),
        ("open$", False),
        ("fonts.c", True),
        ("fonts?c", False),
        ("libfonts.so", True),
        ("/usr/lib/*fonts.so$", True),
    ],
)
def test_a_pattern_is_looked_for_in_functions_files_and_modules(pattern: str, fits: bool) -> None:
    stack = [frame("malloc", module="/lib/libc.so.6"), frame("open_font", "src/fonts.c", "/usr/lib/x/libfonts.so")]
    assert Matcher(parse([f"leak:{pattern}"], "s")).matches(stack) == fits


def test_comments_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text("# known\n\n  leak:one\nleak:two:three\n")
    assert [one.pattern for one in load([str(path)])] == ["one", "two:three"]


def test_files_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"leak:{name}\n")
    monkeypatch.setenv("TARE_SUPPRESSIONS", f"{tmp_path}/a:{tmp_path}/b")
    assert [one.pattern for one in load([f"{tmp_path}/c"])] == ["a", "b", "c"]


@pytest.mark.parametrize("line", ["race:x", "open_font", "leak:", "leak:*", "leak:^$"])
def test_other_lines_are_refused_with_their_place(line: str) -> None:
    with pytest.raises(TareError, match=r"s\.txt:2"):
        parse(["leak:one", line], "s.txt")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(TareError, match="no-such-file"):
        load(["/no-such-file"])
