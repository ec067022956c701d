"""Text: splits source lines into tokens by a regular expression, counts them, and fills a page of HTML with them."""

import html
import re

TOKEN = re.compile(r"(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<mark>[^\s\w])")
LINES = [f"def function_{i}(first, second={i}): return first.child[{i % 7}] + second * {i / 4}" for i in range(1_500)]


def tokens(line: str) -> list[tuple[str, str]]:
    return [(match.lastgroup or "", match.group()) for match in TOKEN.finditer(line)]


def counted(lines: list[list[tuple[str, str]]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in lines:
        for _, text in line:
            counts[text] = counts.get(text, 0) + 1
    return counts


def page(lines: list[list[tuple[str, str]]], counts: dict[str, int]) -> str:
    rows = []
    for number, line in enumerate(lines):
        cells = "".join(f'<i class="{kind}" title="{counts[text]}">{html.escape(text)}</i>' for kind, text in line)
        rows.append(f"<tr><td>{number}</td><td>{cells}</td></tr>")
    return "<table>" + "\n".join(rows) + "</table>"


def main() -> None:
    total = 0
    for _ in range(14):
        lines = [tokens(line) for line in LINES]
        total += len(page(lines, counted(lines)))
    print(total)


main()
