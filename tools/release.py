"""Walks the checklist of a release: runs all scripted checks, then prompts for the rest.

Usage: tools/release.py VERSION [--nightly LOG] [--checks-only]. The status is 0 if all checks hold and all questions are answered
with yes. Nothing is changed, tagged or published.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NIGHTLY_MOST_AGE_S = 36 * 3600
# The file that states the version, with the pattern that finds it.
VERSIONS = {
    "include/tare/version.h": r"VERSION_MAJOR (\d+)\n.*VERSION_MINOR (\d+)\n.*VERSION_PATCH (\d+)",
}
QUESTIONS = (
    "`.ci/run` passed on a fresh Debian 12 at this commit",
    "`make lint-tidy` passed at this commit",
    "`make nightly` passed",
    "`make test-wheel`, `make test-wheel-aarch64` and `make test-packages` passed",
    "`make test-aarch64` passed",
    "`make bench-spine` is within noise of the last release, and bench/RESULTS.md has its numbers",
    "`make bench-field` ran, and first findings that changed were judged (docs/field-notes.md)",
    "`make demo` prints what README.md shows",
    "40 sentences of tools/sentences.py read at first sight",
)


class Check(NamedTuple):
    name: str
    run: Callable[[], str]  # the problem with its remedy; empty: none


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def stated_versions(root: Path) -> dict[str, str]:
    found = {}
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = ".".join(match.groups()) if match else "none"
    return found


def version_problem(root: Path, version: str) -> str:
    wrong = [f"{name} has {stated}" for name, stated in stated_versions(root).items() if stated != version]
    return "; ".join(wrong) + f": set {version}" if wrong else ""


def changelog_problem(changelog: str, version: str) -> str:
    heading = re.search(r"^## (\S+) \((.+)\)$", changelog, re.MULTILINE)
    if heading is None or heading[1] != version:
        return f"CHANGELOG.md: the first section isn't {version}: add '## {version} (YYYY-MM-DD)'"
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[2]):
        return f"CHANGELOG.md: section {version} has '{heading[2]}' in place of a date: write YYYY-MM-DD"
    section = re.split(r"^## ", changelog[heading.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    return "" if "- " in section else f"CHANGELOG.md: section {version} is empty: list its changes"


def tree_problem() -> str:
    changed = git("status", "--porcelain")
    return f"{len(changed.splitlines())} files are changed or untracked: commit or remove them" if changed else ""


def branch_problem() -> str:
    branch = git("rev-parse", "--abbrev-ref", "HEAD")
    return "" if branch == "main" else f"the branch is {branch}: release from main"


def tag_problem(version: str) -> str:
    return f"tag v{version} exists: choose another version" if git("tag", "--list", f"v{version}") else ""


def golden_problem(root: Path) -> str:
    header = (root / "src/trace/file/record.h").read_text(encoding="utf-8")
    found = re.search(r"kTraceVersion = (\d+)", header)
    if found is None:
        return "src/trace/file/record.h: kTraceVersion isn't there: adapt tools/release.py"
    if any((root / "tests/trace/file/golden").glob(f"v{found[1]}-*.tare")):
        return ""
    return f"no golden trace of format version {found[1]}: add tests/trace/file/golden/v{found[1]}-*.tare"


def nightly_problem(log: Path | None, now: float) -> str:
    if log is None:
        return "no log of a nightly run: run it and pass --nightly LOG"
    if not log.is_file():
        return f"{log}: no such file: pass the log of the last nightly run"
    if now - log.stat().st_mtime > NIGHTLY_MOST_AGE_S:
        return f"{log}: older than 36 hours: run the nightly target again"
    text = log.read_text(encoding="utf-8", errors="replace")
    failed = re.findall(r"^(?:FAILED|ERROR|make(?:\[\d+\])?: \*\*\*).*$", text, re.MULTILINE)
    return f"{log}: {failed[0]}" if failed else ""


def command_problem(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    last = (done.stdout + done.stderr).strip().splitlines()[-1:]
    return f"`{' '.join(command)}` failed: {' '.join(last)}" if done.returncode else ""


def checks(version: str, nightly: Path | None) -> list[Check]:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    tests = (".venv/bin/python", "-m", "pytest", "-q", "tests/docs", "tests/python")
    return [
        Check("include/tare/version.h has the version", lambda: version_problem(ROOT, version)),
        Check("changelog has the version and a date", lambda: changelog_problem(changelog, version)),
        Check("branch is main", branch_problem),
        Check("tree is clean", tree_problem),
        Check("tag is free", lambda: tag_problem(version)),
        Check("golden trace of the format", lambda: golden_problem(ROOT)),
        Check("nightly run passed", lambda: nightly_problem(nightly, time.time())),
        Check("licences", lambda: command_problem(sys.executable, "tools/spdx.py")),
        Check("index of decisions", lambda: command_problem(sys.executable, "tools/decision_index.py", "--check")),
        Check("documents and front end", lambda: command_problem(*tests)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("version", help="the version to release, such as 0.1.0")
    parser.add_argument("--nightly", type=Path, metavar="LOG", help="log of the last nightly run, at most 36 hours old")
    parser.add_argument("--checks-only", action="store_true", help="ask no questions")
    options = parser.parse_args()
    problems = 0
    for check in checks(options.version, options.nightly):
        problem = check.run()
        problems += bool(problem)
        print(f"[{'FAIL' if problem else ' ok '}] {check.name}" + (f": {problem}" if problem else ""), flush=True)
    for question in () if options.checks_only else QUESTIONS:
        yes = input(f"{question}? [y/N] ").strip().lower() in ("y", "yes")
        problems += not yes
    if problems:
        print(f"{problems} open: no release yet")
        return 1
    print(f"ready: git tag -s v{options.version} && git push origin v{options.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
