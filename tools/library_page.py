"""Writes docs/library.md from the public headers: library_page.py [--check].

A row a header with its duty, by part, and its first example, which tests/lib/examples compiles. The text before the table is in
docs/library.md itself, up to a marker line.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "library.md"
BEGIN = "<!-- written by tools/library_page.py -->"
PARTS = {
    "core": "Text, bytes, memory: needs nothing else.",
    "variant": "Values in GVariant's and D-Bus's encodings: needs core.",
    "gc": "The collector: needs core.",
    "sdk": "For programs that report to the profiler, and for code that chooses sizes by allocator.",
}
SDK = {"size_classes.h", "layout.h", "ref_ledger.h", "text_lengths.h", "reporter.h", "memory_reporter.h"}
MOST_LINES = 10


def part_of(name: str) -> str:
    if name.startswith("forward/"):
        return name.removeprefix("forward/").removesuffix(".h")
    if "/" in name:
        return name.split("/")[0]  # "internal" is no part: users don't include it
    return "sdk" if name in SDK else "core"


def comment_of(text: str) -> list[str]:
    """The first comment's lines, without their marks."""
    lines = []
    for line in text.splitlines():
        match = re.match(r"^(?://|/\*| \*)(?: (.*)|)$", line)
        if match is None or line.startswith(" */"):
            break
        lines.append(match[1] or "")
    return lines


def duty_of(lines: list[str]) -> str:
    paragraph = " ".join(lines[: lines.index("")] if "" in lines else lines)
    return re.sub(r"^\S+?\.h: ", "", paragraph)


def sample_of(lines: list[str]) -> list[str]:
    sample: list[str] = []
    for line in lines:
        if line.startswith("  "):
            sample.append(line[2:])
        elif line or not sample:
            if sample:
                break
        else:
            sample.append("")
    while sample and not sample[-1]:
        sample.pop()
    return sample[:MOST_LINES]


def table() -> str:
    contexts = (ROOT / "tests/lib/examples/contexts.txt").read_text()
    not_code = set(re.findall(r"^// HEADER tare/(\S+)\n// not code: 0\b", contexts, re.MULTILINE))
    folder = ROOT / "include" / "tare"
    headers = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.h"))]
    out = [BEGIN]
    for part, meaning in PARTS.items():
        out += ["", f"## {part}", "", meaning]
        for name in headers:
            if part_of(name) != part:
                continue
            lines = comment_of((folder / name).read_text())
            out += ["", f"**`tare/{name}`**: {duty_of(lines)}"]
            sample = [] if name in not_code else sample_of(lines)
            if sample:
                out += ["", *(f"    {line}".rstrip() for line in sample)]
    return "\n".join(out) + "\n"


def main() -> int:
    text = PAGE.read_text()
    written = text[: text.index(BEGIN)] + table()
    if "--check" in sys.argv:
        if written != text:
            print("docs/library.md isn't as the headers are: run tools/library_page.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
