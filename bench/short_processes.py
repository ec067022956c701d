# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording short processes: bash with 1,000 children, and cmake's configuration of a small project.

CPU of all processes and the launcher (getrusage), native, plain and with --content, in turn; medians, and their ratios to native. Two rows
are what no recording goes below: "empty library" preloads a library without code, and "true" is a start of the launcher.

`make bench-short_processes`, or `python3 bench/short_processes.py --runs 5`; writes its part of bench/RESULTS.md. Where perf is
installed, a second table has the steps of a shell's child (`--no-steps` leaves it out).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.measure import ROOT, cpu_s
from harness.results import Results, table
from harness.steps import profile

TARE = ROOT / ".venv/bin/tare"
CHILDREN = 1000
LEAST_US = 10  # a child: smaller steps have no row
CASES = {
    f"bash, {CHILDREN} children": ["bash", "-c", f"for i in $(seq {CHILDREN}); do /bin/true; done"],
    "cmake configure": ["cmake", "-S", "project", "-B", "build"],
    "true": ["true"],
}
WAYS: dict[str, list[str] | None] = {"native": None, "empty library": None, "plain": [], "content": ["--content"]}
STEPPED = ("native", "plain", "content")
LISTS = "cmake_minimum_required(VERSION 3.20)\nproject(small C CXX)\nadd_executable(small main.c)\n"


def empty_library(folder: Path) -> str:
    source = folder / "empty.c"
    source.write_text("")
    library = folder / "libempty.so"
    subprocess.run(["cc", "-shared", "-nostdlib", str(source), "-o", str(library)], check=True)
    return str(library)


def run_once(case: str, way: str, results: Results) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        (folder / "project/CMakeLists.txt").write_text(LISTS)
        (folder / "project/main.c").write_text("int main(void) { return 0; }\n")
        options = WAYS[way]
        recorded = [] if options is None else [str(TARE), "run", "-o", "t.tare", *options, "--"]
        environment = {"LD_PRELOAD": empty_library(folder)} if way == "empty library" else {}
        results.add(case, way, "cpu", cpu_s([*recorded, *CASES[case]], folder, environment))
        results.add(case, way, "files", len(list(folder.glob("t.tare*"))), "count")


def steps_table() -> str:
    """The largest steps of one child of bash, by process: the shell with its forked child, the program, the launcher."""
    command = CASES[f"bash, {CHILDREN} children"]
    spent = {}
    for way in STEPPED:
        options = WAYS[way]
        with tempfile.TemporaryDirectory() as name:
            recorded = [] if options is None else [str(TARE), "run", "-q", "-o", "t.tare", *options, "--"]
            spent[way] = profile([*recorded, *command], Path(name))
    steps = {step for way in spent.values() for step in way}
    rows = []
    for process in ("bash", "true", "tare"):
        of_process = [step for step in steps if step[0] == process]
        of_process.sort(key=lambda step: -max(way[step] for way in spent.values()))
        named = [step for step in of_process if max(way[step] for way in spent.values()) >= LEAST_US * CHILDREN]
        rows.append(
            [process, "all", *(f"{sum(way[step] for step in of_process) / CHILDREN:.0f}" for way in spent.values())]
        )
        rows += [["", step[1], *(f"{way[step] / CHILDREN:.0f}" for way in spent.values())] for step in named]
    return table(["process", "step", *(f"{way}, us" for way in STEPPED)], rows)


def section(results: Results) -> str:
    rows = []
    for case in CASES:
        native = results.median(case, "native", "cpu")
        for way in WAYS:
            cpu = results.median(case, way, "cpu")
            files = results.median(case, way, "files")
            if native and cpu is not None and files is not None:
                rows.append([f"{case}: {way}", f"{cpu:.2f} s", f"{cpu / native:.2f}", f"{files:.0f}"])
    return table(["case", "CPU", "of native", "files"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-steps", action="store_true")
    options = parser.parse_args()
    results = Results("short_processes")
    for _ in range(options.runs):
        for case, command in CASES.items():
            if shutil.which(command[0]) is None:
                results.remark(f"{command[0]} isn't installed")
                continue
            for way in WAYS:
                run_once(case, way, results)
    text = section(results)
    if not options.no_steps and shutil.which("perf") is not None:
        text += "\nOne child of bash, by steps (samples of perf, which itself adds some 20 %):\n\n" + steps_table()
    results.publish(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
