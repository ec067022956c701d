"""Runs clang-tidy over the project's C++ files, in parallel, and skips those that passed before in their present form.

It checks the units that the build compiles: up to eight sources that a file of the build includes are one unit, and take little more
time than one of them (9 s of CPU time; one after the other 60 s). A unit's form is the text of all project files it was
compiled from (ninja's dependency log), the checks and the compile command; so a change of one header checks again exactly its
includers. Forms that passed are kept in $XDG_CACHE_HOME/tare-tidy for all clones: checking all units takes most of an hour.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
# Programs that tests and benches record do on purpose what checks complain of.
RECORDED = (
    "tests/recorder/programs/",
    "tests/recorder/unwind/torture/",
    "tests/end_to_end/programs/",
    "bench/workloads/",
)
# Tests copy in order to test copies, look at what they moved from, and have no plan for a failed realloc.
LEFT_OUT_IN_TESTS = (
    "-bugprone-use-after-move,-performance-unnecessary-copy-initialization,-bugprone-suspicious-realloc-usage"
)
# gcc's options of code generation that clang doesn't have.
GCC_ONLY = re.compile(r" -m(?:accumulate-outgoing-args|incoming-stack-boundary=\d)\b")
# The preset compiles with gcc: clang doesn't know all of its warning options.
EXTRA_ARGUMENTS = ("--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-ignored-optimization-argument")


def files_by_unit(build: Path) -> dict[Path, list[Path]]:
    """The project's files in each unit as of the last build; units that were never compiled are absent."""
    log = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found: dict[Path, list[Path]] = {}
    for entry in log.split("\n\n"):
        files = [(build / line.strip()).resolve() for line in entry.splitlines()[1:]]
        if files:
            found[files[0]] = [file for file in files if file.is_relative_to(ROOT) and file.exists()]
    return found


def form(command: str, files: list[Path], checks: bytes) -> str:
    digest = hashlib.sha256(checks + command.replace(str(ROOT), ".").encode())
    for file in sorted(files):
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes().replace(bytes(ROOT), b"."))
    return digest.hexdigest()


def left_out(unit: Path, build: Path) -> str:
    """Checks that make no sense in this unit."""
    is_made = unit.is_relative_to(build)  # it includes sources
    place = unit.relative_to(build if is_made else ROOT)
    checks = ["-bugprone-suspicious-include"] if is_made else []
    return ",".join([*checks, LEFT_OUT_IN_TESTS] if place.parts[0] == "tests" else checks)


def check(unit: Path, database: Path, stamps: list[Path]) -> str:
    """clang-tidy's output for one unit; empty without warnings, and the stamps are left."""
    run = subprocess.run(
        [
            TIDY,
            "--quiet",
            "-p",
            str(database),
            f"--checks={left_out(unit, database.parent)}",
            *EXTRA_ARGUMENTS,
            str(unit),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        return run.stdout + run.stderr
    for stamp in stamps:
        stamp.touch()
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*", type=Path, help="only these")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    passed = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tare-tidy"
    passed.mkdir(parents=True, exist_ok=True)

    checks = (ROOT / ".clang-tidy").read_bytes()
    files = files_by_unit(build)
    only = {file.resolve() for file in arguments.files}
    pending: dict[Path, list[Path]] = {}  # unit -> stamps to leave when it passes: one a target that compiles it
    entries = json.loads(GCC_ONLY.sub("", (build / "compile_commands.json").read_text()))
    database = build / "tidy"
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(entries))
    for entry in entries:
        unit = Path(entry["file"]).resolve()
        known = files.get(unit, [])
        if not unit.is_relative_to(ROOT) or (only and only.isdisjoint([unit, *known])):
            continue
        if str(unit.relative_to(ROOT)).startswith(RECORDED):
            continue
        stamp = passed / form(entry["command"], known, checks)
        # without known files the form is incomplete, and the unit is checked every time
        if not known:
            pending[unit] = []
        elif not stamp.exists():
            pending.setdefault(unit, []).append(stamp)

    failures = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for unit, words in zip(
            pending, pool.map(lambda each: check(each[0], database, each[1]), pending.items()), strict=True
        ):
            if words:
                failures += 1
                print(words, flush=True)
            print(f"{'FAILED' if words else 'passed'}  {unit.relative_to(ROOT)}", file=sys.stderr, flush=True)
    print(f"clang-tidy: {len(pending)} units checked, {failures} with findings", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
