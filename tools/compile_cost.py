"""Measures where a build's time goes: CPU seconds to compile each source of a build folder, and to parse it alone.

    tools/compile_cost.py build/wheel                          # all sources, which takes as long as a build from scratch
    tools/compile_cost.py build/wheel src/recorder/process     # those whose path contains one of the words
    tools/compile_cost.py build/wheel --parse src/recorder     # without optimization and code

CPU time is user and system time without ccache. The heaviest sources come first. If nearly all of a source's time is
parsing, its headers are the reason: `g++ -H` lists them.
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

VALUED = {"-o", "-MF", "-MT", "-MQ"}  # options with a value of their own
WRITING = {"-c", "-MD", "-MMD"}


class Cost(NamedTuple):
    source: str
    compile_s: float  # 0: not measured
    parse_s: float
    lines: int


def compiler_command(command: str) -> list[str]:
    """The compiler with its options for this source: no launcher, no output."""
    words = shlex.split(command)
    if Path(words[0]).name == "ccache":
        del words[0]
    kept: list[str] = []
    is_value = False
    for word in words:
        if not is_value and word not in VALUED and word not in WRITING:
            kept.append(word)
        is_value = word in VALUED
    return kept


def cpu_of(command: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost_of(entry: dict[str, str], parse_only: bool) -> Cost:
    command, folder = compiler_command(entry["command"]), entry["directory"]
    expanded = subprocess.run([*command, "-E"], cwd=folder, check=True, capture_output=True).stdout
    parsed = cpu_of([*command, "-fsyntax-only"], folder)
    compiled = 0.0
    if not parse_only:
        with tempfile.TemporaryDirectory() as name:
            compiled = cpu_of([*command, "-c", "-o", f"{name}/object.o"], folder)
    return Cost(entry["file"], compiled, parsed, expanded.count(b"\n"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("build", type=Path, help="a build folder with compile_commands.json")
    parser.add_argument("words", nargs="*", help="measure sources whose path contains one of these")
    parser.add_argument("--parse", action="store_true", help="parse only")
    options = parser.parse_intermixed_args()  # words may follow an option
    entries = json.loads((options.build / "compile_commands.json").read_text(encoding="utf-8"))
    chosen = [entry for entry in entries if not options.words or any(word in entry["file"] for word in options.words)]
    if not chosen:
        print(f"compile_cost.py: no source of {options.build} contains {' or '.join(options.words)}", file=sys.stderr)
        return 1
    costs = sorted((cost_of(entry, options.parse) for entry in chosen), key=lambda cost: -max(cost[1:3]))
    print("compile s  parse s    lines  source")
    for cost in costs:
        print(f"{cost.compile_s:9.2f} {cost.parse_s:8.2f} {cost.lines:8}  {cost.source}")
    compiled, parsed = sum(cost.compile_s for cost in costs), sum(cost.parse_s for cost in costs)
    print(f"{compiled:9.2f} {parsed:8.2f} {sum(cost.lines for cost in costs):8}  {len(costs)} sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
