"""Converts docs/man/*.md to man pages: FOLDER/man1/NAME.1, for `man -M FOLDER tare-run`.

Usage: tools/man_pages.py FOLDER. Knows the Markdown that these pages use: headings, paragraphs, indented code, lists, tables, terms with `:   `
definitions, and bold, italic, code and links in lines.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = ROOT / "include/tare/version.h"


def escaped(text: str) -> str:
    """Text that roff prints as it is."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + plain if plain.startswith((".", "\\(aq")) else plain


def formatted(text: str) -> str:
    """Inline Markdown as font changes; a link is its text."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(text.split()))
    parts = re.split(r"(`[^`]+`|\*\*.+?\*\*|\*[^*\s][^*]*\*)", text)
    done = []
    for part in parts:
        if len(part) > 2 and part[0] == part[-1] == "`":
            done.append(f"\\fB{escaped(part[1:-1])}\\fR")
        elif part.startswith("**") and part.endswith("**") and len(part) > 4:
            done.append(f"\\fB{escaped(part[2:-2])}\\fR")
        elif part.startswith("*") and part.endswith("*") and len(part) > 2:
            done.append(f"\\fI{escaped(part[1:-1])}\\fR")
        else:
            done.append(escaped(part))
    line = "".join(done)
    return "\\&" + line if line.startswith((".", "'")) else line


def table(lines: list[str]) -> list[str]:
    """Rows as terms with their other columns behind; the head has no own form."""
    rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in lines]
    out = []
    for row in rows[2:]:
        cells = [cell.strip() for cell in row]
        out += [".TP", formatted(cells[0]), formatted(" ".join(cells[1:]))]
    return out


def block(lines: list[str]) -> list[str]:
    """One run of lines between blank lines."""
    first = lines[0]
    if first.startswith("#"):
        level, title = first.split(" ", 1)
        return [f".{'SH' if len(level) == 2 else 'SS'} {escaped(title)}"] + (block(lines[1:]) if lines[1:] else [])
    if first.startswith("    "):
        return [".PP", ".RS 4", ".nf", *(escaped(line[4:]) for line in lines), ".fi", ".RE"]
    if first.startswith("|"):
        return table(lines)
    if first.startswith("- "):
        items = re.split(r"\n(?=- )", "\n".join(lines))
        return [part for item in items for part in (".IP \\(bu 2", formatted(item[2:]))]
    if len(lines) > 1 and lines[1].startswith(":   "):
        return [".TP", formatted(first), formatted(" ".join([lines[1][4:], *lines[2:]]))]
    return [".PP", formatted(" ".join(lines))]


def man_page(text: str, version: str) -> str:
    """The roff source of one page. Code keeps its blank lines."""
    head, body = text.split("\n", 1)
    found = re.fullmatch(r"# ([\w-]+)\((\d)\)", head)
    if found is None:
        raise ValueError(f"the first line isn't '# NAME(SECTION)': {head}")
    out = [f'.TH {found[1].upper()} {found[2]} "" "tare {version}" "Tare"']
    runs = re.split(r"\n\n+", body.strip("\n"))
    in_code = False
    for run in runs:
        lines = run.strip("\n").split("\n")
        made = block(lines)
        code = lines[0].startswith("    ")
        if code and in_code:  # a blank line inside of code
            out[-2:] = ["", *made[3:]]
        else:
            out += made
        in_code = code
    return "\n".join(out) + "\n"


def write_pages(folder: Path) -> list[Path]:
    parts = re.findall(r"define TARE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", VERSION.read_text(encoding="utf-8"))
    target = folder / "man1"
    target.mkdir(parents=True, exist_ok=True)
    pages = []
    for source in sorted((ROOT / "docs/man").glob("*.md")):
        page = target / f"{source.stem}.1"
        page.write_text(man_page(source.read_text(encoding="utf-8"), ".".join(parts)), encoding="utf-8")
        pages.append(page)
    return pages


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="the folder that gets man1/")
    pages = write_pages(parser.parse_args().folder)
    print(f"{len(pages)} pages in {pages[0].parent}")


if __name__ == "__main__":
    main()
