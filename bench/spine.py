"""Bench of the whole way from a program to its report: native, tare, heaptrack and memray side by side.

Every round runs all subjects of a case one after the other, so that a slow minute of the machine hits them all; medians count.
CPU time over all processes is compared: wall time hides the work of a second core.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from harness.arguments import rounds_and_cases
from harness.measure import ROOT, MeasuredCommandFailed
from harness.results import Results
from spine_cases import CASES, Case
from spine_report import section
from spine_subjects import SUBJECTS, Metrics, Subject, install_memray

SCRATCH = ROOT / "build/bench-scratch"


def record(results: Results, case: Case, subject: Subject, metrics: Metrics) -> None:
    for name, value in metrics.items():
        # "subject:metric" charges another subject than the one that measured it
        owner, _, metric = name.rpartition(":")
        results.add(case.name, owner or subject.name, metric, value)


def folder_of(case: Case, subject: Subject) -> Path:
    return SCRATCH / case.name / type(subject).__name__


def bench_case(results: Results, case: Case, runs: int) -> None:
    subjects = [subject for subject in SUBJECTS if subject.applies(case)]
    failed: set[Subject] = set()
    for round_number in range(runs):
        for subject in subjects:
            if subject in failed:
                continue
            folder = folder_of(case, subject)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                metrics = subject.run(case, folder)
            except MeasuredCommandFailed as failure:
                failed.add(subject)
                results.remark(
                    f"{case.name}: {subject.name} failed ({str(failure).splitlines()[0].replace(f'{ROOT}/', '')})"
                )
                print(f"{case.name} {subject.name}: {failure}", file=sys.stderr)
                continue
            record(results, case, subject, metrics)
            words = ", ".join(f"{name} {value:.3g}" for name, value in metrics.items())
            print(f"{case.name} {round_number + 1}/{runs} {type(subject).__name__}: {words}", flush=True)
    for subject in subjects:
        if subject in failed:
            continue
        try:
            record(results, case, subject, subject.analyse(case, folder_of(case, subject)))
        except MeasuredCommandFailed as failure:
            results.remark(f"{case.name}: analysis of {subject.name} failed ({str(failure).splitlines()[0]})")
            print(f"{case.name} {subject.name}: {failure}", file=sys.stderr)
    events = results.median(case.name, "tare", "count")
    for subject in subjects:
        disk_bytes = results.median(case.name, subject.name, "disk_bytes")
        results.samples.pop((case.name, subject.name, "disk_bytes"), None)
        if disk_bytes is not None and events:
            results.add(case.name, subject.name, "disk_per_event", disk_bytes / events)
    shutil.rmtree(SCRATCH / case.name, ignore_errors=True)  # raw traces take hundreds of megabytes


def main() -> int:
    runs, chosen = rounds_and_cases(__doc__, CASES)

    results = Results("spine")
    cases = [CASES[name]() for name in chosen]
    if any(subject.name == "memray" and subject.applies(case) for subject in SUBJECTS for case in cases):
        install_memray()
    for case in cases:
        bench_case(results, case, runs)
    body = section(results, cases, runs)
    print(body)
    print(results.write_json())
    # a partial run proves nothing about the whole: only a full one becomes the published table
    if len(cases) == len(CASES):
        print(results.write_section(body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
