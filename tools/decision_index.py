"""Rewrites docs/decisions/README.md: titles from the files, groups as they are; files without a group go to the end, by number.

Usage: tools/decision_index.py [--check]. With --check nothing is written, and the status is 1 if the index is stale.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

DECISIONS = Path(__file__).resolve().parents[1] / "docs/decisions"
UNGROUPED = "Not grouped yet"


def title(path: Path) -> str:
    """The first line of a decision without its number."""
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    found = re.fullmatch(r"# (?:\d{4}:? )?(.+)", first)
    if found is None:
        sys.exit(f"{path}: the first line isn't a title")
    return found[1]


def rewritten(index: str, files: list[Path]) -> str:
    """The index with one line for each of `files`; lines of missing files are dropped."""
    left = {path.name: path for path in files}
    lines = []
    for line in index.partition(f"\n## {UNGROUPED}\n")[0].rstrip("\n").split("\n"):
        entry = re.match(r"- \[\d{4}\]\((.+?)\)", line)
        if entry is None:
            lines.append(line)
        elif entry[1] in left:
            lines.append(item(left.pop(entry[1])))
    if left:
        lines += ["", f"## {UNGROUPED}", ""]
        lines += [item(path) for path in left.values()]
    return "\n".join(lines) + "\n"


def item(path: Path) -> str:
    return f"- [{path.name[:4]}]({path.name}) {title(path)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="fail if the index is stale, write nothing")
    check: bool = parser.parse_args().check
    index = DECISIONS / "README.md"
    old = index.read_text(encoding="utf-8")
    new = rewritten(old, sorted(DECISIONS.glob("[0-9]*.md")))
    if check and new != old:
        print(f"{index} is stale: run tools/decision_index.py", file=sys.stderr)
        return 1
    if not check:
        index.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
