"""Counts the instructions that the recorder needs to find the loaded object of a return address that it sees for the first time.

glibc 2.35 and later have _dl_find_object. With older ones the recorder calls dl_iterate_phdr, whose cost grows with the
number of loaded objects. Both ways run here on the same objects under valgrind's callgrind: instructions don't depend on
how busy the machine is. Each number is the difference of two runs, one of twice as many rounds, divided by the look-ups
between them. `make bench-module_lookup`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.callgrind import count_instructions
from harness.measure import BUILD
from harness.results import Results, table

LIBRARIES = (1, 20, 100, 500)  # loaded beside those of the program itself
LOOK_UPS = 2_000
WAYS = {"found": "_dl_find_object", "visited": "dl_iterate_phdr"}


def run(way: str, rounds: int, libraries: list[Path]) -> tuple[int, int]:
    """Instructions of the process, and its number of loaded objects."""
    counted = count_instructions([BUILD / "module-lookup", way, str(rounds), *libraries])
    return counted.instructions, int(counted.stdout.split()[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    results = Results("module_lookup")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        first = Path(name) / "library0.so"
        source = "void function(void) {}"
        build: list[str | Path] = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", first]
        subprocess.run(build, input=source, text=True, check=True)
        copies = [first]
        for number in range(1, max(LIBRARIES)):
            copies.append(Path(shutil.copy(first, Path(name) / f"library{number}.so")))
        for count in LIBRARIES:
            rounds = LOOK_UPS // count
            per_look_up = {}
            for way, words in WAYS.items():
                (once, _), (twice, objects) = (run(way, each, copies[:count]) for each in (rounds, 2 * rounds))
                per_look_up[way] = (twice - once) / (rounds * count)
                results.add(f"{objects} objects", words, "instructions", per_look_up[way], "count")
            rows.append([f"{objects} loaded objects", *(f"{per_look_up[way]:,.0f}" for way in WAYS)])
            print("  ".join(rows[-1]), flush=True)
    text = (
        "Instructions to find the object of one return address. The recorder does this once for each return address of a program,\n"
        "and keeps the answer. The fallback serves glibc before 2.35.\n\n"
    ) + table(["objects", *WAYS.values()], rows)
    results.publish(text, whole=not options.dry_run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
