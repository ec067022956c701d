"""`tare explore` on a real terminal (tmux): by keys only, in 80 columns, with and without colours; numbers are those of `tare sql`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import REPO
from screen import Screen

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = [
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux isn't installed (Debian's package)"),
    pytest.mark.skipif(find_spec("textual") is None, reason="textual isn't installed"),
]

PYTHON = "/usr/bin/python3.11" if os.path.exists("/usr/bin/python3.11") else sys.executable


@pytest.fixture(scope="module")
def demo(tare_module: Tare) -> Path:
    """The recording of `make demo`."""
    program = REPO / "demo/concordance.py"
    done = tare_module("run", "-q", "-o", "demo.tare", "--", PYTHON, program, env={"PYTHONMALLOC": "malloc"})
    assert done.returncode == 0, done.stderr
    return tare_module.folder / "demo.tare"


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """Writes its arguments to `edited`."""
    program = tmp_path / "editor"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{tmp_path}/edited\n')
    program.chmod(0o755)
    return program


def explore(tare: Tare, folder: Path, *arguments: str | Path, width: int = 80, height: int = 24, **env: str) -> Screen:
    return Screen(folder, tare.command, "explore", *arguments, width=width, height=height, env=env)


def edited(folder: Path) -> list[str]:
    end = time.monotonic() + 30
    # The shell makes the file before it writes its lines.
    while not (folder / "edited").exists() or not (folder / "edited").read_text().endswith("\n"):
        assert time.monotonic() < end, "no editor was started"
        time.sleep(0.05)
    return (folder / "edited").read_text().splitlines()


def bytes_of(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * 1024 ** ("B", "KiB", "MiB", "GiB").index(unit)


def test_the_line_of_the_largest_growth_in_under_ten_keys(
    tare_module: Tare, demo: Path, editor: Path, tmp_path: Path
) -> None:
    found = tare_module.report(demo, "--lens", "growth")["findings"]
    line = next(frame for frame in found[0]["stack"] if frame["file"] and frame["file"].endswith("concordance.py"))
    with explore(tare_module, tmp_path, demo, EDITOR=str(editor)) as screen:
        screen.wait("where (")
        screen.press("/", *"grow", "Enter")
        screen.wait("search /grow/")
        screen.press("e")
        assert edited(tmp_path) == [f"+{line['line']}", line["file"]]
        assert screen.keys < 10
        screen.wait("search /grow/")  # the screen comes back after the editor
        screen.press("q")
        screen.wait("status 0")


def test_findings_sites_tree_and_timeline_have_the_numbers_of_sql(
    tare_module: Tare, demo: Path, tmp_path: Path
) -> None:
    gross = tare_module.report(demo)["peak"]["gross_bytes"]
    with explore(tare_module, tmp_path, demo) as screen:
        text = screen.wait("where (")
        shown = re.search(r"gross at the peak \([^)]*\): ([\d.]+ \w+)", text)
        assert shown
        assert bytes_of(shown[1]) == pytest.approx(gross, rel=0.005)
        assert "words_of (concordance.py:46)" in text
        screen.press("2")
        text = screen.wait("share")
        (row,) = tare_module.sql(
            demo,
            "select sum((usable_bytes + header_bytes) * peak_blocks) as bytes, sum(peak_blocks) as blocks from site_sizes"
            " join stack_sites using (stack_id) join sites using (site_id) group by site_location_id order by 1 desc limit 1",
        )
        first = re.search(r"([\d.]+ \w+) +([\d.]+)% +[\d.]+ M  words_of", text)
        assert first, text
        assert bytes_of(first[1]) == pytest.approx(row["bytes"], rel=0.005)
        assert float(first[2]) == pytest.approx(100 * row["bytes"] / gross, abs=0.06)
        screen.press("3")
        assert screen.wait("whole heap").count("100.0%") > 2
        screen.press("u")
        screen.wait("from allocating functions up")
        screen.press("4")
        text = screen.wait(lambda text: "slop and headers" in text and "reading" not in text)
        (process,) = tare_module.sql(demo, "select rss_read_ns from process")
        shown = re.search(r"◆ RSS (?:up to )?([\d.]+ \w+) at ([\d.]+) s", text)
        assert shown and process["rss_read_ns"], text
        assert float(shown[2]) == pytest.approx(process["rss_read_ns"] / 1e9, rel=0.01)
        assert text.count("◆") == 2, "the key and the mark"
        screen.press("Home", "[", *["S-Right"] * 5, "]")
        text = screen.wait("gross allocated in")
        ends = tare_module.sql(demo, "select interval, end_ns from intervals order by interval")
        (row,) = tare_module.sql(
            demo,
            "select sum(blocks * (usable_bytes + header_bytes)) as bytes from lifetimes where allocated_interval >"
            f" {ends[0]['interval']} and allocated_interval <= {ends[50]['interval']}",
        )
        shown = re.search(r"gross allocated in [^:]*: ([\d.]+ \w+)", text)
        assert shown
        assert bytes_of(shown[1]) == pytest.approx(row["bytes"], rel=0.005)
        screen.press("v")
        screen.wait("and still live at the end of")


def test_it_works_without_colours(tare_module: Tare, demo: Path, tmp_path: Path) -> None:
    """The cursor and a range are seen by reverse and underlined text."""
    with explore(tare_module, tmp_path, demo, NO_COLOR="1", TERM="vt100") as screen:
        screen.wait("where (")
        assert re.search(r"\x1b\[[\d;]*7m[^\n]*headers", screen.text(looks=True)), "the cursor's row"
        screen.press("3")
        screen.wait("whole heap")
        screen.press("Down")
        screen.wait(lambda _: re.search(r"\x1b\[[\d;]*7m[^\n]*_start", screen.text(looks=True)))
        for colour in re.findall(r"\x1b\[[34]8;2;(\d+);(\d+);(\d+)m", screen.text(looks=True)):
            assert len(set(colour)) == 1, "shades of grey only"


def test_filters_search_and_details_in_the_tree(tare_module: Tare, demo: Path, editor: Path, tmp_path: Path) -> None:
    with explore(tare_module, tmp_path, demo, EDITOR=str(editor)) as screen:
        screen.wait("where (")
        screen.press("3")
        screen.wait("from callers down")
        screen.press("/")
        screen.wait("regular expression")
        screen.press(*"neighbours$", "Enter")
        screen.wait("* ")
        screen.wait(lambda text: re.search(r"\*\s*[-+ ] neighbours", text))
        screen.press("e")
        plus, file = edited(tmp_path)
        assert file.endswith("concordance.py")
        assert (
            "neighbours(books)" in Path(file).read_text().splitlines()[int(plus[1:]) - 1] or 58 <= int(plus[1:]) <= 68
        )
        screen.press("x", "m")
        screen.wait("requested")
        screen.press("Down", "Enter")
        screen.wait("requested at the peak")
        screen.press("f")
        screen.wait("all modules")
        screen.press("Down", "Enter")
        screen.wait(lambda text: re.search(r"^ module ", text, re.MULTILINE))
        screen.press("x", "2")
        screen.wait(lambda text: "site (" in text and not re.search(r"^ module ", text, re.MULTILINE))
        screen.press("Enter")
        screen.wait("Freed (allocations")
        screen.press("Escape")  # alone: Escape and a key at once are Alt and the key
        screen.wait(lambda text: "Freed (allocations" not in text)
        screen.press("?")
        screen.wait("$EDITOR")


def test_a_baseline_and_a_wide_screen(tare_module: Tare, demo: Path, tmp_path: Path) -> None:
    other = tare_module.record(PYTHON, "-c", "kept = [str(n) for n in range(9000)]", name="other.tare")
    with explore(tare_module, tmp_path, demo, "--baseline", other, width=140, height=40) as screen:
        text = screen.wait(lambda text: "where (" in text and "site (" in text)
        assert re.search(r"new +headers", text)
        assert "to the baseline" in text
        screen.press("3")
        screen.wait(lambda text: re.search(r"\+[\d.]+ MiB +[\d.]+%", text))


def test_a_terminal_that_grows_shows_sites_beside_findings(tare_module: Tare, demo: Path, tmp_path: Path) -> None:
    with explore(tare_module, tmp_path, demo) as screen:
        assert "site (" not in screen.wait("where (")
        screen.resize(140, 40)
        screen.wait(lambda text: "where (" in text and "site (" in text)
        screen.resize(80, 24)
        screen.wait(lambda text: "where (" in text and "site (" not in text)


def test_a_process_is_shown_while_it_runs(tare: Tare, tmp_path: Path) -> None:
    program = "import time\nkept = []\nwhile True:\n    kept.append(bytes(5000)); time.sleep(0.005)"
    launcher = subprocess.Popen([tare.command, "run", "-q", "-o", tmp_path / "live.tare", "--", PYTHON, "-c", program])
    try:
        time.sleep(2)
        with explore(tare, tmp_path, str(launcher.pid), "--interval", "300ms") as screen:
            first = screen.wait("site, by live")
            screen.wait(lambda text: "site, by live" in text and text.splitlines()[1] != first.splitlines()[1])
            screen.press("3")
            screen.wait("gross now")
            screen.press("4")
            screen.wait("slop and headers")
            subprocess.run(["pkill", "-P", str(launcher.pid)], check=True)
            screen.wait("has ended")
            screen.press("q")
            screen.wait("has ended")
    finally:
        subprocess.run(["pkill", "-P", str(launcher.pid)], check=False)
        launcher.wait(60)


def test_it_needs_a_terminal_and_a_readable_file(tare: Tare, tmp_path: Path) -> None:
    done = tare("explore", "none.tare")
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    with explore(tare, tmp_path, tmp_path / "none.tare") as screen:
        assert "none.tare" in screen.wait("status 4")
