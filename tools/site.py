"""Builds one offline site from all documents: README, guide, lenses, manual pages, decisions, folders, and the API from the headers.

Usage: .venv/bin/python tools/site.py FOLDER. Each Markdown page becomes an HTML page at the same path. Each public header becomes a
page whose comments are prose and whose declarations are code. Other files that pages link to are copied.
"""

from __future__ import annotations

import argparse
import html
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
HEADERS = "include/tare"
# Parts of the menu: title, and the pages' paths as patterns of git.
MENU = (
    ("Tare", ("README.md", "docs/*.md", "CHANGELOG.md")),
    ("Commands", ("docs/man/*.md",)),
    ("Guide", ("guide/*.md", "examples/*.md")),
    ("Library", (f"{HEADERS}/*.h", f"{HEADERS}/*.md")),
    (
        "Contributing",
        ("HACKING.md", "CONTRIBUTING.md", "SECURITY.md", "src/*.md", "python/*.md", "tests/*.md", "tools/*.md"),
    ),
    ("More", ("bench/*.md", "fuzz/*.md")),
    ("Decisions", ("docs/decisions/*.md",)),
)
STYLE = """
body { margin: 0; font: 16px/1.5 sans-serif; color: #222; background: #fff; }
nav { position: fixed; inset: 0 auto 0 0; width: 17em; overflow: auto; padding: 1em; background: #f4f4f1; font-size: 14px; }
nav ul { list-style: none; margin: 0 0 1em; padding: 0; } nav summary { font-weight: bold; }
main { margin-left: 20em; padding: 1em 2em; max-width: 60em; }
img { max-width: 100%; } pre { background: #f4f4f1; padding: .7em; overflow: auto; } code { font-size: 14px; }
table { border-collapse: collapse; display: block; overflow: auto; } td, th { border: 1px solid #ccc; padding: .2em .5em; text-align: left; }
@media (max-width: 50em) { nav { position: static; width: auto; } main { margin: 0; padding: 1em; } }
"""


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def page_of(name: str) -> str:
    """The HTML file of a source; a folder's README is its index."""
    if name.endswith(".h"):
        return f"{name}.html"
    base = name.removesuffix(".md")
    return (
        "index" if base == "README" else base.removesuffix("README") + "index" if base.endswith("/README") else base
    ) + ".html"


def title_of(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(".h"):
        return name.removeprefix("include/")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]) if found else name


def heading_id(text: str) -> str:
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def markdown_body(text: str) -> str:
    tool = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = tool.parse(text.replace("[](", "\\[]("))  # operator new[](align) is no link
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", heading_id(re.sub(r"[`*]", "", tokens[at + 1].content)))
    return str(tool.renderer.render(tokens, tool.options, {}))


def comment_body(lines: list[str]) -> str:
    """Prose of a comment; lines indented by three blanks are code, as clang-format leaves them."""
    parts, run, is_code = list[str](), list[str](), False
    for line in [*lines, ""]:
        code = line.startswith("   ")
        if run and (code != is_code or not line.strip()):
            text = "\n".join(run)
            parts.append(f"<pre><code>{html.escape(text)}</code></pre>" if is_code else f"<p>{inline(text)}</p>")
            run = []
        if line.strip():
            run, is_code = [*run, line], code
    return "\n".join(parts)


def inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def header_body(name: str) -> str:
    """Comments as prose, declarations as code, in the order of the header."""
    parts = [f"<h1>{html.escape(title_of(name))}</h1>"]
    comment, code = list[str](), list[str]()

    def flush_code() -> None:
        text = "\n".join(code).strip("\n")
        if text:
            parts.append(f"<pre><code>{html.escape(text)}</code></pre>")
        code.clear()

    for line in [*(ROOT / name).read_text(encoding="utf-8").splitlines(), ""]:
        found = re.fullmatch(r" *// ?(.*)", line)
        if found and "SPDX-License" not in line:
            if not comment:
                flush_code()
            comment.append(found[1])
            continue
        if comment:
            parts.append(comment_body(comment))
            comment.clear()
        if not re.match(r"#\s*(pragma once|include)", line) and "SPDX-License" not in line:
            code.append(line)
    flush_code()
    return "\n".join(parts)


class Site:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # git's * matches slashes, too: a page belongs to the last part that names it
        part_of = {name: title for title, paths in MENU for name in tracked(*paths) if "/workloads/" not in name}
        self._parts = [(title, [name for name in part_of if part_of[name] == title]) for title, _ in MENU]
        self._pages = {name: page_of(name) for name in sorted(part_of)}

    def build(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        for name, page in self._pages.items():
            text = (ROOT / name).read_text(encoding="utf-8")
            body = header_body(name) if name.endswith(".h") else self._linked(markdown_body(text), name)
            target = self._folder / page
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self._framed(title_of(name), body, page), encoding="utf-8")

    def _linked(self, body: str, name: str) -> str:
        """Links to Markdown lead to pages; other files, pictures among them, are copied beside them."""

        def target(found: re.Match[str]) -> str:
            link, _, anchor = html.unescape(found[2]).partition("#")
            if not link or re.match(r"[a-z]+:", link):
                return found[0]
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
            if (ROOT / path).is_dir():
                path = posixpath.join(path, "README.md") if (ROOT / path / "README.md").exists() else path
            page = self._pages.get(path)
            if page is None and (ROOT / path).is_file():
                page = path
                copy = self._folder / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, copy)
            if page is None:
                raise SystemExit(f"{name}: the link {link} leads nowhere in the site")
            relative = posixpath.relpath(page, posixpath.dirname(self._pages[name]) or ".")
            return f'{found[1]}="{html.escape(relative)}{"#" if anchor else ""}{anchor}"'

        return re.sub(r'(href|src)="([^"]+)"', target, body)

    def _framed(self, title: str, body: str, page: str) -> str:
        here = posixpath.dirname(page) or "."
        menu = []
        for part, names in self._parts:
            items = "\n".join(
                f'<li><a href="{posixpath.relpath(self._pages[name], here)}">{html.escape(title_of(name))}</a></li>'
                for name in sorted(names, key=lambda each: (not each.endswith("README.md"), each))
            )
            state = " open" if any(self._pages[name] == page for name in names) else ""
            menu.append(f"<details{state}><summary>{part}</summary><ul>\n{items}\n</ul></details>")
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)} - Tare</title>\n'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
            f"<body><nav>{''.join(menu)}</nav>\n<main>\n{body}\n</main></body></html>\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="the folder to write; its old contents are deleted")
    folder: Path = parser.parse_args().folder
    if folder.exists() and any(folder.iterdir()) and not (folder / "index.html").exists():
        parser.error(f"{folder} isn't a site and isn't empty: choose another folder")
    Site(folder).build()
    print(f"{folder / 'index.html'}")


if __name__ == "__main__":
    main()
