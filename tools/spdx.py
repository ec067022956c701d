"""Checks that each tracked file has a licence, by an SPDX line of its own or by REUSE.toml; adds such lines to source files.

Usage: tools/spdx.py              check: prints files without a licence or with another one; status 1 if there is any
       tools/spdx.py --add FILE...   adds the line behind the first comment, which states the file's duty
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[1]
LICENCE = "Apache-2.0"
PATCHES = (".patch", ".diff")  # have the licence of the program that they change
LINE = "SPDX-License-Identifier: "
MARKS = dict.fromkeys((".h", ".cc", ".c", ".cpp", ".def"), "//") | dict.fromkeys((".py", ".sh", ".cmake", ".toml"), "#")
OWN_LINE = re.compile(rf"^\W*{LINE}(\S+)", re.MULTILINE)
LOOKED_BYTES = 4096  # an SPDX line lies at the beginning


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def pattern_of(path: str) -> re.Pattern[str]:
    """REUSE's patterns: ** matches anything, * anything but a slash."""
    parts = [{"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", path)]
    return re.compile("".join(parts))


def annotated(reuse: str) -> list[tuple[re.Pattern[str], str]]:
    found = []
    for each in tomllib.loads(reuse).get("annotations", []):
        paths = each["path"] if isinstance(each["path"], list) else [each["path"]]
        found += [(pattern_of(path), str(each.get("SPDX-License-Identifier", ""))) for path in paths]
    return found


def licence_of(name: str, beginning: str, annotations: list[tuple[re.Pattern[str], str]]) -> str | None:
    """A file's own line counts before REUSE.toml; of that the last matching annotation."""
    if own := OWN_LINE.search(beginning):
        return own[1]
    licences = [licence for pattern, licence in annotations if pattern.fullmatch(name)]
    return licences[-1] if licences else None


def wrong(root: Path, names: list[str]) -> list[str]:
    """One line for each file without the project's licence. Patches need some licence."""
    reuse = root / "REUSE.toml"
    annotations = annotated(reuse.read_text(encoding="utf-8")) if reuse.exists() else []
    lines = []
    for name in names:
        with (root / name).open("rb") as file:
            beginning = file.read(LOOKED_BYTES).decode(errors="replace")
        licence = licence_of(name, beginning, annotations)
        if licence != LICENCE and not (licence and name.endswith(PATCHES)):
            lines.append(f"{name}: licence {licence or 'missing'}, expected {LICENCE}")
    return lines


def with_line(text: str, mark: str) -> str:
    """`text` with an SPDX line: behind #! and the first run of comments, or at the top."""
    if OWN_LINE.search(text[:LOOKED_BYTES]):
        return text
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines) and (lines[at].startswith(mark) or lines[at].startswith("#!")):
        at += 1
    return "".join([*lines[:at], f"{mark} {LINE}{LICENCE}\n", *lines[at:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--add", nargs="+", metavar="FILE", type=Path, help="add the line to these files")
    files: list[Path] | None = parser.parse_args().add
    if files is None:
        found = wrong(ROOT, tracked())
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    for path in files:
        if path.suffix not in MARKS:
            sys.exit(f"{path}: no comment mark is known for this kind of file; REUSE.toml covers it")
        text = path.read_text(encoding="utf-8")
        path.write_text(with_line(text, MARKS[path.suffix]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
