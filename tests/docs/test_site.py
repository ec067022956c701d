"""The site of all documents: complete, and each link leads to a file of it, so that it works offline."""

import re
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest
from tool_modules import load_tool

REPO = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow  # making the site takes 16 s


@pytest.fixture(scope="module")
def site_tool() -> ModuleType:
    if not (REPO / ".git").exists():
        pytest.skip("not a checkout")
    return load_tool("site")


@pytest.fixture(scope="module")
def site(site_tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site_tool.Site(folder).build()
    return folder


def test_each_link_leads_to_a_file_of_the_site(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = page.parent / unquote(path) if path else page
            if not target.is_file() or (
                anchor and target.suffix == ".html" and f'id="{anchor}"' not in target.read_text(encoding="utf-8")
            ):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_each_header_page_and_decision_is_there(site: Path, site_tool: ModuleType) -> None:
    sources = site_tool.tracked("include/tare/*.h", "docs/*.md", "guide/*.md")
    assert len(sources) > 150
    assert [name for name in sources if not (site / site_tool.page_of(name)).is_file()] == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.search(
            r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="?https?:', page.read_text(encoding="utf-8")
        )


def test_headers_become_prose_and_code(site_tool: ModuleType) -> None:
    body = site_tool.comment_body(["Adds `a` & b.", "", "   int x = add<int>(1, 2);", "", "Never fails."])
    assert body == (
        "<p>Adds <code>a</code> &amp; b.</p>\n"
        "<pre><code>   int x = add&lt;int&gt;(1, 2);</code></pre>\n"
        "<p>Never fails.</p>"
    )
