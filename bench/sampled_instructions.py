"""The instructions that sampling adds to real programs, by callgrind: what `sampled_programs` times, without a machine's noise.

Each profiler is compared with the same allocator without it. Counts are of the program alone, in user space; system calls aren't
counted. Each run of a program takes minutes; BENCH_ARGS="--profiler 'tare 512K'" leaves out the other profilers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from harness.callgrind import count_instructions
from harness.results import Results, table
from hot_path import installed_recorder
from sampled_programs import DISTANCE, SUBJECTS
from spine_cases import CASES, Case

TARE = "tare 512K"
PROFILERS = [TARE, "jemalloc prof", "tcmalloc sampler"]
PROGRAMS = ["cc1plus", "git", "sqlite"]


def instructions(name: str, case: Case, folder: Path) -> int:
    variables = os.environ | case.environment | SUBJECTS[name].environment
    if name == TARE:
        # as `tare run --sample` starts it; the spool stays behind without a launcher
        variables |= {
            "LD_PRELOAD": str(installed_recorder()),
            "TARE_SPOOL_DIR": str(folder),
            "TARE_SAMPLE_BYTES": str(DISTANCE),
        }
    return count_instructions([*case.command], variables).instructions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=PROGRAMS, help="only this program; may be repeated")
    parser.add_argument("--profiler", action="append", choices=PROFILERS, help="only this one; may be repeated")
    options = parser.parse_args()
    cases, profilers = options.case or PROGRAMS, options.profiler or PROFILERS
    results = Results("sampled_instructions")
    counts: dict[tuple[str, str], int] = {}
    for case_name in cases:
        case = CASES[case_name]()
        for profiler in profilers:
            for name in (SUBJECTS[profiler].base, profiler):
                with tempfile.TemporaryDirectory() as folder:
                    counts[case_name, name] = instructions(name, case, Path(folder))
                results.add(case_name, name, "instructions", counts[case_name, name], "count")
                print(f"{case_name}, {name}: {counts[case_name, name]:,}", flush=True)
    rows = []
    for profiler in profilers:
        base = SUBJECTS[profiler].base
        added = [f"{counts[case, profiler] / counts[case, base] - 1:+.2%}" for case in cases]
        rows.append([f"{profiler} over {base}", *added])
    native = ", ".join(
        f"{case} {counts[case, base] / 1e9:.1f} G over {base}"
        for base in dict.fromkeys(SUBJECTS[profiler].base for profiler in profilers)
        for case in cases
    )
    results.publish(
        "Instructions in user space of the program alone, over the same allocator without a profiler; callgrind, one run"
        f" each. Without a profiler: {native}.\n\n" + table(["", *cases], rows)
    )


if __name__ == "__main__":
    main()
