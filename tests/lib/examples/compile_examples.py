"""Compiles every example in the comments of the public headers: compile_examples.py INCLUDE_FOLDER CONTEXTS COMPILER..."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CODE_LINE = re.compile(r"^\s*(?://|\*) {3}(.*)$")
EMPTY_LINE = re.compile(r"^\s*(?://|\*)\s*$")
PLACE = re.compile(r"^\s*@(\d+)(?::(\d+)-(\d+))?$")
Block = list[tuple[int, str]]  # line numbers in the header, and text


def blocks_of(header: Path) -> list[Block]:
    """Runs of lines indented by three blanks in comments; an empty comment line between two belongs to them."""
    blocks: list[Block] = []
    current: Block = []
    for number, line in enumerate([*header.read_text().splitlines(), ""], 1):
        if match := CODE_LINE.match(line):
            current.append((number, match[1]))
        elif EMPTY_LINE.match(line) and current:
            current.append((number, ""))
        else:
            while current and not current[-1][1].strip():
                current.pop()
            if current:
                blocks.append(current)
            current = []
    return blocks


def uncommented(line: str) -> str:
    """Without what C's headers, whose comments can't hold comments, have behind a statement."""
    return re.sub(r";\s{3,}(?!//).*", ";", line.removesuffix("*/"))


class Header:
    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.path = folder / name
        self.blocks = blocks_of(self.path)
        self.unplaced = set(range(len(self.blocks)))

    def lines(self, index: int, first: int, last: int) -> list[str]:
        if index >= len(self.blocks):
            sys.exit(f"{self.name} has no block {index}")
        self.unplaced.discard(index)
        placed: list[str] = []
        for number, text in self.blocks[index][first - 1 : last]:
            placed += [f'#line {number} "{self.path}"', uncommented(text)]
        return placed


def assemble(folder: Path, contexts: Path) -> tuple[str, list[str]]:
    includes: list[str] = []
    body: list[str] = []
    headers: list[Header] = []
    is_open = False
    for number, line in enumerate(contexts.read_text().splitlines(), 1):
        if line.startswith("// HEADER "):
            if is_open:
                body.append("}")
            headers.append(Header(folder, line.split()[2]))
            includes.append(f"#include <{headers[-1].name}>")
            body.append(f"namespace example_{len(headers)} {{")
            is_open = True
        elif line == "// GLOBAL":
            body.pop()
            is_open = False
        elif line.startswith("// not code: "):
            headers[-1].unplaced -= {int(index) for index in line.split()[3:]}
        elif line.startswith("#include"):
            includes.append(line)
        elif match := PLACE.match(line):
            body += headers[-1].lines(int(match[1]), int(match[2] or 1), int(match[3] or 1000))
        else:
            body += [f'#line {number} "{contexts}"', line]
    if is_open:
        body.append("}")
    complaints = [f"{header.name}: block {i} has no context" for header in headers for i in sorted(header.unplaced)]
    known = {header.name for header in headers}
    for path in sorted(folder.rglob("*.h")):
        name = str(path.relative_to(folder))
        if name not in known and blocks_of(path):
            complaints.append(f"{name}: its examples have no context")
    return "\n".join(includes + body) + "\n", complaints


def main() -> int:
    folder, contexts = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    source, complaints = assemble(folder, contexts)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    failed = bool(complaints)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "examples.cc"
        path.write_text(source)
        for compiler in sys.argv[3:]:
            command = [compiler, "-std=c++20", "-fsyntax-only", "-w", f"-I{folder}", str(path)]
            failed = subprocess.run(command, check=False).returncode != 0 or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
