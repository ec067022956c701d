"""Manual pages as man pages: complete, and correct roff."""

import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from tool_modules import load_tool

REPO = Path(__file__).resolve().parents[2]
PAGES = sorted((REPO / "docs/man").glob("*.md"))


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("man_pages")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_page_becomes_correct_roff(tool: ModuleType, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    roff = tool.man_page(text, "1.2.3")
    assert roff.startswith(f'.TH {page.stem.upper()} 1 "" "tare 1.2.3"')
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == re.findall(r"^\.SH (.+)$", roff, re.MULTILINE)
    if shutil.which("groff") is None:
        pytest.skip("groff isn't installed")
    printed = subprocess.run(
        ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-rLL=200n", "-P-c"],
        input=roff,
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stderr == ""
    plain = re.sub(r".\x08", "", printed.stdout)
    for line in re.findall(
        r"^    (\S.*)$", re.sub(r"^:   .*(?:\n    .*)*", "", text, flags=re.MULTILINE), re.MULTILINE
    ):
        assert line in plain
    for option in re.findall(r"^\*\*(-[-\w]+)\*\*", text, re.MULTILINE):
        assert option in plain


def test_roff_is_escaped(tool: ModuleType) -> None:
    assert (
        tool.formatted("a `--b` *c* **d** [e](f.md) 'g' \\")
        == "a \\fB\\-\\-b\\fR \\fIc\\fR \\fBd\\fR e \\(aqg\\(aq \\e"
    )
    assert tool.block([".x"]) == [".PP", "\\&.x"]
    assert tool.block(["    .x -y"]) == [".PP", ".RS 4", ".nf", "\\&.x \\-y", ".fi", ".RE"]
