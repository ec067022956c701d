"""The page of hand-made recordings: policy, hashes, escapes, numbers in the static part."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from handmade import Handmade
from tare.html import page, shell
from tare.html.markup import element, escaped, joined

_MOST_SHELL = 80_000


def written(made: Handmade) -> str:
    out = io.BytesIO()
    page.write(made.recording(), out)
    return out.getvalue().decode()


def example(name: str = "grow") -> Handmade:
    made = Handmade()
    made.blocks(made.stack(f"{name}@a.c:1", "main@a.c:9"), 33, 48, total=1000, peak=900, end=10)
    made.blocks(made.stack("other@a.c:2", "main@a.c:10"), 4000, 4008, total=5, peak=5, end=0)
    return made


class Elements(HTMLParser):
    """Every element and attribute of a page, and its text outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self._raw = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._raw = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._raw = False

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.words.append(data)


def parsed(text: str) -> Elements:
    elements = Elements()
    elements.feed(text)
    return elements


def test_the_policy_allows_this_script_and_style_only() -> None:
    text = written(example())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src &#x27;none&#x27;" in policy[1]
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for kind, (content,) in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src &#x27;sha256-{digest}&#x27;" in policy[1]
    assert len((script[0] + style[0]).encode()) <= _MOST_SHELL


def test_nothing_is_loaded() -> None:
    elements = parsed(written(example()))
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(elements.tags)
    assert not {"src", "style", "onclick", "onload", "srcset", "action"} & elements.attributes
    assert elements.tags.count("script") == 2


HOSTILE = "</script><script>alert(1)</script>\x1b[31m\u202egnp\x00\"'&lt;\udc9b"


def test_hostile_names_are_text() -> None:
    plain, hostile = written(example()), written(example(HOSTILE))
    assert parsed(plain).tags == parsed(hostile).tags
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", hostile)
    words = "".join(parsed(hostile).words)
    assert "</script><script>alert(1)</script>\\x1b[31m\\u202egnp\\x00\"'&lt;\\x9b" in words


def test_the_balance_and_the_sites_have_exact_numbers() -> None:
    words = parsed(written(example())).words
    gross = 900 * (48 + 8) + 5 * (4008 + 8)
    assert f"{gross:,}" in words
    assert f"{900 * 56:,}" in words  # the site


def test_a_recording_without_blocks_has_a_page() -> None:
    text = written(Handmade())
    assert "No block was live." in text
    assert "No finding is above" in text


def test_markup_escapes_once() -> None:
    inner = element("b", "<&>")
    assert inner == "<b>&lt;&amp;&gt;</b>"
    assert element("p", inner, 'a"b', title='"') == '<p title="&quot;"><b>&lt;&amp;&gt;</b>a&quot;b</p>'
    assert joined(inner, escaped("\x07")) == inner + "\\x07"


@pytest.mark.skipif(not shutil.which("node"), reason="node isn't installed")
@pytest.mark.parametrize("name", shell.SCRIPTS)
def test_scripts_parse(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(shell.asset(name))
    done = subprocess.run(["node", "--check", tmp_path / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert shell.asset(name).count("\n") < 450
    assert "innerHTML" not in shell.asset(name)
