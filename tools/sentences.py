"""Prints random sentences of the project's texts for review: messages, manual pages, comments and decisions.

Usage: tools/sentences.py [--seed N] [--count N] [--kind KIND ...]. The same seed on the same commit prints the same sentences.
Each sentence is judged by docs/style.md: it must be understood at the first reading.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LEAST_WORDS = 4
# Calls whose texts a user reads; keyword arguments of argparse and of lenses, too.
SPEAKING_CALLS = {"TareError", "say", "print", "warn", "Advice", "note"}
SPEAKING_KEYWORDS = {"help", "description", "question", "why", "threshold", "false_positives", "remedy"}


class Sentence(NamedTuple):
    place: str  # FILE:LINE
    text: str


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def sentences_of(text: str) -> list[str]:
    """Splits at full stops, question marks and colons that a space and a capital letter or a quote follow."""
    parts = re.split(r"(?<=[.?!])\s+(?=[A-Z`\"*\[])", " ".join(text.split()))
    return [part for part in parts if len(re.findall(r"[A-Za-z][\w'-]+", part)) >= LEAST_WORDS]


def located(path: Path, line: int, text: str) -> Iterator[Sentence]:
    for each in sentences_of(text):
        yield Sentence(f"{path.relative_to(ROOT)}:{line}", each)


def paragraphs(path: Path) -> Iterator[Sentence]:
    """Prose of a Markdown page: no headings, code, tables or lines of status."""
    start, lines, in_code = 1, list[str](), False
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        if line.startswith("```"):
            in_code = not in_code
        if in_code or not line.strip() or re.match(r"#|\||```| {4}\S|(Status|Date):", line):
            yield from located(path, start, " ".join(lines))
            lines = []
            continue
        item = re.match(r"- ", line)
        if item or not lines:
            yield from located(path, start, " ".join(lines))
            start, lines = number, []
        lines.append(line[2:] if item else line.strip())


def text_of(node: ast.expr) -> str:
    """A string or f-string; its fields as {...}. Empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{...}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return ""


def python_messages(path: Path) -> Iterator[Sentence]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        spoken = list(node.args) if called in SPEAKING_CALLS else []
        spoken += [each.value for each in node.keywords if each.arg in SPEAKING_KEYWORDS]
        for argument in spoken:
            yield from located(path, argument.lineno, text_of(argument))


def cpp_messages(path: Path) -> Iterator[Sentence]:
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        code = line.split("//", 1)[0] if '"' not in line.split("//", 1)[-1] else line
        for found in re.findall(r'"((?:[^"\\]|\\.)*)"', code):
            yield from located(path, number, found)


def comments(path: Path) -> Iterator[Sentence]:
    """Runs of whole-line comments, and comments behind code."""
    mark = "#" if path.suffix == ".py" else "//"
    start, lines = 1, list[str]()
    for number, line in enumerate([*path.read_text(encoding="utf-8", errors="replace").splitlines(), ""], 1):
        found = re.match(rf"\s*{mark}+!?<?\s?(.*)", line)
        if found and not found[1].startswith(("NOLINT", "clang-format", "SPDX", "!/")):
            start = start if lines else number
            lines.append(found[1])
            continue
        yield from located(path, start, " ".join(lines))
        lines = []
        if behind := re.search(rf"[;,{{)]\s+{mark} (.+)$", line):
            yield from located(path, number, behind[1])


def all_of(kind: str) -> list[Sentence]:
    if kind == "messages":
        python = [each for path in tracked("python/tare/*.py") for each in python_messages(path)]
        return python + [
            each for path in tracked("src/core/**.cc", "src/trace/base/errors.def") for each in cpp_messages(path)
        ]
    if kind == "manual pages":
        return [each for path in tracked("docs/man/*.md") for each in paragraphs(path)]
    if kind == "comments":
        sources = tracked("src/*.h", "src/*.cc", "src/*.def", "include/*.h", "python/*.py")
        return [each for path in sources for each in comments(path)]
    return [each for path in tracked("docs/decisions/0*.md") for each in paragraphs(path)]


KINDS = ("messages", "manual pages", "comments", "decisions")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="number that decides the choice; default: a new one, which is printed")
    parser.add_argument("--count", type=int, default=10, help="sentences of each kind (default 10)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind; may be repeated")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    chosen = random.Random(seed)
    print(f"seed {seed}")
    for kind in options.kind or KINDS:
        found = sorted(set(all_of(kind)))
        print(f"\n{kind}: {options.count} of {len(found):,} sentences")
        for each in chosen.sample(found, min(options.count, len(found))):
            print(textwrap.fill(each.text, 110, initial_indent="  - ", subsequent_indent="    "))
            print(f"      {each.place}")


if __name__ == "__main__":
    main()
