"""Bench of the library's blocks beside their peers: atoms, text streams, growing buffers under several allocators,
arenas, compressed and counted pointers, cages.

Each block has a program in bench/blocks that prints its measurements. Every round runs all programs one after the other, so
that a slow minute of the machine hits them all; medians count. Calls of malloc are counted in runs of their own, once: they
don't vary.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from blocks_report import section
from harness.measure import BUILD, ROOT
from harness.results import Results

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
COUNT_MALLOC = BUILD / "blocks/libcount-malloc.so"
# The preloaded library for each; the empty one is the one that programs are linked with
ALLOCATORS = {
    "glibc": None,
    # Freed memory at the heap's end isn't released: the cost of blocks without the kernel's pages
    "glibc-untrimmed": None,
    "jemalloc": LIBRARIES / "libjemalloc.so.2",
    "mimalloc": LIBRARIES / "libmimalloc.so.2.0",
    "tcmalloc": LIBRARIES / "libtcmalloc_minimal.so.4",
}
UNTRIMMED = {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1073741824"}


@dataclass(frozen=True)
class Program:
    """One run of a bench program."""

    block: str
    arguments: tuple[str, ...] = ()
    preloaded: tuple[Path, ...] = ()
    counts: bool = False  # runs once, because its output doesn't vary
    untrimmed: bool = False

    @property
    def executable(self) -> Path:
        return BUILD / f"blocks/bench-{self.block}"

    def run(self, results: Results) -> None:
        environment = {**os.environ, "LD_PRELOAD": " ".join(map(str, self.preloaded))}
        if self.untrimmed:
            environment |= UNTRIMMED
        words = " ".join([self.executable.name, *self.arguments, *(file.name for file in self.preloaded)])
        print(words, flush=True)
        run = subprocess.run(
            [self.executable, *self.arguments], env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        if run.returncode != 0:
            results.remark(f"`{words}` failed (status {run.returncode})")
            return
        for row in json.loads(run.stdout):
            results.add(row["case"], row["subject"], row["metric"], row["value"], row["unit"])


def programs(blocks: list[str], results: Results) -> list[Program]:
    wanted: list[Program] = []
    if "atoms" in blocks:
        wanted.append(Program("atoms", ("1",)))
    if "streams" in blocks:
        wanted.append(Program("streams"))
        wanted.append(Program("streams", preloaded=(COUNT_MALLOC,), counts=True))
    for block in ("buffers", "arenas"):
        if block not in blocks:
            continue
        for allocator, library in ALLOCATORS.items():
            if library is not None and not library.exists():
                results.remark(f"{allocator} isn't installed")
                continue
            preloaded = () if library is None else (library,)
            if allocator == "glibc-untrimmed":
                if block == "arenas":
                    wanted.append(Program(block, (allocator,), untrimmed=True))
                continue
            wanted.append(Program(block, (allocator,), preloaded))
            wanted.append(Program(block, (allocator,), (COUNT_MALLOC, *preloaded), counts=True))
    for block in ("pointers", "references", "cages"):
        if block in blocks:
            wanted.append(Program(block))
    return wanted


BLOCKS = ["atoms", "streams", "buffers", "arenas", "pointers", "references", "cages"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--block", action="append", choices=BLOCKS, help="only this block; may be repeated")
    arguments = parser.parse_args()
    chosen = arguments.block or BLOCKS

    results = Results("blocks")
    for block in [block for block in chosen if not Program(block).executable.exists()]:
        results.remark(f"bench-{block} isn't built in {BUILD.relative_to(ROOT)}")
        chosen = [other for other in chosen if other != block]
    wanted = programs(chosen, results)
    for round_number in range(arguments.runs):
        for program in wanted:
            if round_number == 0 or not program.counts:
                program.run(results)
    body = section(results, arguments.runs)
    print(body)
    print(results.write_json())
    # a partial run proves nothing about the whole: only a full one becomes the published table
    if chosen == BLOCKS:
        print(results.write_section(body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
