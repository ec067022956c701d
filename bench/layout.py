"""`tare layout` beside pahole: the same holes, type by type, and the cost of finding them.

For each file pahole prints its types, with the sums of their holes and padding in bits; each must be among ours with that name,
size and sum. Unexplained differences are printed. CPU is of reading and printing all types.

`make bench-layout`, or `.venv/bin/python bench/layout.py --file sqlite=libsqlite3.so --file big=/usr/lib/debug/...`; CPython and
glibc are always among the cases, where their debug files are installed. Writes its part of bench/RESULTS.md unless --dry-run.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from harness.measure import ROOT, measure
from harness.results import Results, table

_HEAD = re.compile(r"^(?:struct|class|union) (.*?) ?(?:: .*)?\{$")
_SUMS = {
    "size": re.compile(r"/\* size: (\d+)"),
    "hole_bytes": re.compile(r"sum holes: (\d+)"),
    "hole_bits": re.compile(r"sum bitfield holes: (\d+)|sum bit holes: (\d+)"),
    "tail_bytes": re.compile(r" padding: (\d+)"),
    "tail_bits": re.compile(r"bit_padding: (\d+)"),
}

Found = dict[str, set[tuple[int, int]]]  # name without scopes -> size in bytes and padding in bits


class Compared(NamedTuple):
    types: int  # known to pahole
    same: int
    # Explained: pahole takes the bytes of a class without members for padding, and bases as if nothing were put into their
    # tail padding; some sums are larger than the type; and it shows variants of Rust's enums and slices as types.
    explained: int
    differences: list[str]


def by_pahole(text: str) -> Found:
    found: Found = defaultdict(set)
    name = ""
    sums: dict[str, int] = {}
    for line in text.split("\n"):
        head = _HEAD.match(line)
        if head:
            name, sums = head.group(1).strip(), {}
        elif line.startswith("\t/* "):
            for what, pattern in _SUMS.items():
                if told := pattern.search(line):
                    sums[what] = int(next(filter(None, told.groups())))
        elif line.startswith("}") and name and "size" in sums:
            padding = 8 * (sums.get("hole_bytes", 0) + sums.get("tail_bytes", 0))
            found[name].add((sums["size"], padding + sums.get("hole_bits", 0) + sums.get("tail_bits", 0)))
            name = ""
    return found


def without_scopes(name: str) -> str:
    depth = begin = 0
    for at, sign in enumerate(name):
        depth += {"<": 1, "(": 1, "[": 1, "{": 1, ">": -1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
        if sign == ":" and depth == 0:
            begin = at + 1
    return name[begin:]


def by_tare(text: str) -> tuple[Found, Found]:
    """All types, and those of them with bases."""
    found: Found = defaultdict(set)
    derived: Found = defaultdict(set)
    for each in json.loads(text)["types"]:
        padding = 8 * (each["hole_bytes"] + each["tail_padding_bytes"]) + each["hole_bits"]
        name = without_scopes(each["name"])
        found[name].add((each["size_bytes"], padding))
        if any(field["kind"].endswith("base") for field in each["fields"]):
            derived[name].add((each["size_bytes"], padding))
    return found, derived


def compare(theirs: Found, ours: Found, derived: Found, is_rust: bool) -> Compared:
    same = types = explained = 0
    differences = []
    for name, each in sorted(theirs.items()):
        for size, padding in sorted(each):
            types += 1
            if (size, padding) in ours.get(name, ()):
                same += 1
            elif (
                padding >= 8 * size
                or any(other == size for other, _ in derived.get(name, ()))
                or (is_rust and all(other != size for other, _ in ours.get(name, ())))
            ):
                explained += 1
            else:
                told = sorted(ours.get(name, ()))
                differences.append(f"{name}: {size} bytes with {padding} bits of padding, here {told}")
    return Compared(types, same, explained, differences)


def installed() -> dict[str, str]:
    """Files with debug information that tests install anyway."""
    cases = {}
    if python := shutil.which("python3.11-dbg"):
        cases["cpython"] = python
    build_id = re.search(
        r"Build ID: (..)(.*)",
        subprocess.run(["readelf", "-n", "/lib/x86_64-linux-gnu/libc.so.6"], capture_output=True, text=True).stdout,
    )
    if build_id:
        file = Path("/usr/lib/debug/.build-id") / build_id.group(1) / f"{build_id.group(2)}.debug"
        if file.exists():
            cases["glibc"] = str(file)
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument("--file", action="append", default=[], metavar="NAME=PATH", help="with debug information")
    parser.add_argument("--alone", action="append", default=[], metavar="NAME", help="a file to read without pahole")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--show", type=int, default=12, help="differences printed of each file (default: 12)")
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    cases = installed() | dict(each.split("=", 1) for each in options.file)
    results = Results("layout")
    rows = []
    with TemporaryDirectory() as folder:
        texts = {name: Path(folder) / name for name in ("tare", "pahole")}
        for case, path in cases.items():
            alone = case in options.alone
            commands = {"tare": [options.tare, "layout", path, "--json"]}
            if not alone:
                commands["pahole"] = ["pahole", "-F", "dwarf", "--show_private_classes", path]
            for _ in range(options.runs):
                for subject, command in commands.items():
                    used = measure([*command], Path(folder), stdout=texts[subject])
                    results.add(case, subject, "cpu", used.cpu_seconds)
                    results.add(case, subject, "rss", used.max_rss_bytes)
            ours, derived = by_tare(texts["tare"].read_text())
            row = [case, f"{Path(path).stat().st_size / 1e6:.1f}", f"{sum(map(len, ours.values())):,}"]
            if alone:
                row += ["-", "-", "-", "-"]
            else:
                theirs = by_pahole(texts["pahole"].read_text(errors="replace"))
                found = compare(theirs, ours, derived, is_rust=any("::{" in name or "&" in name for name in theirs))
                for line in found.differences[: options.show]:
                    print(f"{case}: {line}")
                row += [f"{each:,}" for each in (found.types, found.same, found.explained, len(found.differences))]
            for metric, unit in (("cpu", 1.0), ("rss", 1e6)):
                for subject in ("tare", "pahole"):
                    median = results.median(case, subject, metric)
                    row.append("-" if median is None else f"{median / unit:.{2 if metric == 'cpu' else 0}f}")
            rows.append(row)
    body = (
        "Types that pahole prints, those of which name, size and padding in bits are the same here, those whose difference is\n"
        "explained (pahole takes the bytes of classes without members for padding, bases as if nothing were put into their tail\n"
        "padding, prints sums larger than the type, and shows variants of Rust's enums as types), and others. CPU and memory are\n"
        "those of printing all types, ours as JSON under every allocator's classes.\n\n"
        + table(
            [
                "file",
                "MB",
                "types",
                "pahole's",
                "the same",
                "explained",
                "others",
                "CPU s",
                "pahole's",
                "MB of memory",
                "pahole's",
            ],
            rows,
        )
    )
    print(body)
    if not options.dry_run:
        results.write_json()
        results.write_section(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
