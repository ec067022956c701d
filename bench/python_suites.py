"""Test suites of real Python packages, plain and recorded: the same results, no impossible event, none dropped.

The packages come from PyPI: attrs with the tests of its source archive, numpy and sortedcontainers with what they install.
`.venv/bin/python bench/python_suites.py [--suite attrs]`. Status 1: a recorded suite ended otherwise than the plain one.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from harness.measure import ROOT, measure
from harness.results import Results, table
from spine_cases import DEBIAN_PYTHON
from spine_subjects import TARE, Command

SCRATCH = ROOT / "build/bench-suites"
VENV = SCRATCH / "venv"
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]


@dataclass(frozen=True)
class Suite:
    name: str
    requirements: list[str]
    tests: list[str]  # arguments of pytest
    source_of: str = ""  # a package whose source archive has the tests


SUITES = [
    Suite("attrs", ["attrs==26.1.0", "hypothesis", "cloudpickle"], ["tests", "--hypothesis-seed=1"], "attrs==26.1.0"),
    Suite("numpy", ["numpy", "hypothesis"], ["--pyargs", "numpy._core.tests.test_numeric", "--hypothesis-seed=1"]),
]


def installed(suite: Suite) -> Path:
    """The folder in which its tests run."""
    if not VENV.exists():
        subprocess.run([DEBIAN_PYTHON, "-m", "venv", VENV], check=True)
    pip: Command = [VENV / "bin/pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "pytest", *suite.requirements], check=True)
    if not suite.source_of:
        return SCRATCH
    folder = SCRATCH / suite.name
    shutil.rmtree(folder, ignore_errors=True)
    # The build requirements only to read the archive's metadata, as pip does before it keeps it.
    subprocess.run(
        [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", folder, suite.source_of], check=True
    )
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        members.extractall(folder, filter="data")
    return next(each for each in folder.iterdir() if each.is_dir())


def outcome(text: str) -> str:
    """`1376 passed, 8 skipped` of pytest's last line."""
    lines = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s", text, re.MULTILINE)
    return lines[-1] if lines else text[-200:]


def run(results: Results, suite: Suite) -> tuple[list[str], bool]:
    folder = installed(suite)
    found: dict[str, str] = {}
    trace = SCRATCH / f"{suite.name}.tare"
    recorders: dict[str, Command] = {"native": [], "tare": [TARE, "run", "-q", "-o", trace, "--"]}
    for subject, recorder in recorders.items():
        log = SCRATCH / f"{suite.name}-{subject}.log"
        script = f"cd {folder} && {VENV}/bin/python {' '.join([*PYTEST, *suite.tests])}; exit 0"
        usage = measure([*recorder, "/bin/sh", "-c", script], SCRATCH, stdout=log)
        found[subject] = outcome(log.read_text(errors="replace"))
        results.add(suite.name, subject, "cpu", usage.cpu_seconds)
        print(f"{suite.name} {subject}: {found[subject]}, {usage.cpu_seconds:.1f} s", flush=True)
    sums = {"events": 0, "impossible_events": 0, "dropped_events": 0}
    for file in SCRATCH.glob(f"{suite.name}*.tare"):
        done = subprocess.run([TARE, "report", file, "--json"], capture_output=True, check=True).stdout
        report = json.loads(done)
        for name in sums:
            sums[name] += report[name]
    results.add(suite.name, "tare", "count", sums["events"])
    same = found["native"] == found["tare"]
    cpu = [results.median(suite.name, subject, "cpu") or 0 for subject in ("native", "tare")]
    row = [
        suite.name,
        found["native"],
        "the same" if same else f"**{found['tare']}**",
        f"{sums['events'] / 1e6:.1f}",
        str(sums["impossible_events"]),
        str(sums["dropped_events"]),
        f"{cpu[0]:.1f}",
        f"{cpu[1]:.1f}",
    ]
    return row, same and not sums["impossible_events"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", choices=[suite.name for suite in SUITES], help="only this suite")
    arguments = parser.parse_args()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    results = Results("python_suites")
    rows, all_same = [], True
    for suite in SUITES:
        if arguments.suite and suite.name not in arguments.suite:
            continue
        row, same = run(results, suite)
        rows.append(row)
        all_same = all_same and same
    header = ["suite", "plain", "recorded", "M events", "impossible", "dropped", "plain CPU s", "recorded CPU s"]
    body = table(header, rows)
    print(body)
    print(results.write_json())
    if not arguments.suite:
        print(results.write_section(body))
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main())
