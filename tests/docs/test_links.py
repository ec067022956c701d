"""Links between documents lead to files that exist, and a folder's README names only files that are there."""

import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SKIPPED = {".git", ".venv", "build", "dist", "corpus", "field"}
PAGES = sorted(
    path for path in REPO.rglob("*.md") if not SKIPPED & set(path.relative_to(REPO).parts) and path.stat().st_size
)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
FILE = re.compile(r"`([\w./*-]+\.(?:h|cc|c|py|pyi|md|def|sh|map|txt))`")


def name(page: Path) -> str:
    return str(page.relative_to(REPO))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    local = [link.split("#")[0] for link in links if not re.match(r"\w+:|#", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name == "README.md"], ids=name)
def test_a_readme_names_files_that_exist(page: Path) -> None:
    """A name is a path from the page's folder, the folder above, the root, or a folder up to two levels below."""
    missing = [
        file
        for file in FILE.findall(page.read_text(encoding="utf-8"))
        if "NAME" not in file and "VERB" not in file
        if not any(
            True for folder in (page.parent, page.parent.parent, REPO, REPO / "include") for _ in folder.glob(file)
        )
        and not any(True for deeper in ("*", "*/*") for _ in page.parent.glob(f"{deeper}/{file}"))
    ]
    assert missing == []


def test_the_routes_name_files_that_exist() -> None:
    """HACKING.md shortens names after the first; zeros is the file that its example adds."""
    files = [file for file in FILE.findall((REPO / "HACKING.md").read_text(encoding="utf-8")) if "NAME" not in file]
    searched = [REPO / folder for folder in ("src", "python", "tests", "tools", "bench", "docs")]
    missing = [
        file
        for file in files
        if "zeros" not in file and not (REPO / file).exists()
        if not any(True for folder in searched for _ in folder.rglob(Path(file).name))
    ]
    assert len(files) > 20
    assert missing == []


def test_the_library_and_the_tools_are_listed() -> None:
    for folder, ending in (("include/tare", "*.h"), ("tools", "*.*")):
        page = (REPO / folder / "README.md").read_text(encoding="utf-8")
        names = {path.name for path in (REPO / folder).glob(ending) if path.name != "README.md"}
        assert {name for name in names if f"`{name}`" not in page} == set(), folder


TEST_FILE = re.compile(r"\btests/(?:core|docs|end_to_end|lib|packaging|python|recorder|trace)/[\w/]+\.(?:cc|py|sh)\b")


def test_comments_name_tests_that_exist() -> None:
    named = [
        (str(source.relative_to(REPO)), file)
        for folder in ("include", "src", "python", "tests", "tools")
        for source in (REPO / folder).rglob("*")
        if source.suffix in {".h", ".cc", ".c", ".py", ".sh", ".txt"} and not SKIPPED & set(source.parts)
        for file in TEST_FILE.findall(source.read_text(encoding="utf-8"))
    ]
    assert len(named) > 5
    assert [place for place in named if not (REPO / place[1]).exists()] == []
