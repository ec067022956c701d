"""As much of GitHub Actions and of GitLab CI as runs one job here: steps, composite actions with inputs, environment, artifacts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import viewers


class Outcome(NamedTuple):
    failed: bool
    log: str
    artifacts: list[Path]  # files that the service keeps


class _Job:
    """Runs lines by a shell that ends at the first failure, as both services do."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = environment
        self.failed = False
        self.log = ""
        self.artifacts: list[Path] = []

    def run(self, shell: str, lines: str, environment: Mapping[str, str]) -> None:
        done = subprocess.run(
            [shell, "-e", "-c", lines],
            cwd=self.folder,
            env={**self._environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.log += done.stdout
        self.failed |= done.returncode != 0

    def keep(self, path: str, excluded: str = "") -> None:
        place = self.folder / path
        assert place.exists(), f"no artifact {path}: {self.log}"
        files = [place] if place.is_file() else sorted(each for each in place.rglob("*") if each.is_file())
        self.artifacts += [each for each in files if not fnmatch(str(each.relative_to(self.folder)), excluded)]

    def outcome(self) -> Outcome:
        return Outcome(self.failed, self.log, self.artifacts)


def read(text: str) -> Any:
    return viewers.needs_python("ruamel.yaml").YAML(typ="safe").load(text)


def github(workflow: Path, actions: Mapping[str, Path], folder: Path, environment: Mapping[str, str]) -> Outcome:
    """`actions`: folders of actions by name. A checkout has been made."""
    (job,) = read(workflow.read_text())["jobs"].values()
    made = _Job(folder, environment)
    for step in _steps(job["steps"], actions, {}, {}):
        if made.failed and step.get("if") != "always()":
            continue
        if "run" in step:
            made.run(step.get("shell", "bash"), step["run"], step.get("env", {}))
        elif step["uses"].startswith("actions/upload-artifact@"):
            made.keep(step["with"]["path"], "*/.*")  # not hidden files
        else:
            assert step["uses"].startswith("actions/checkout@"), step
    return made.outcome()


def _steps(
    steps: list[dict[str, Any]], actions: Mapping[str, Path], inputs: Mapping[str, str], environment: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Those of composite actions in place of the step that uses one."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        return (
            re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda name: inputs[name[1]], value)
            if isinstance(value, str)
            else value
        )

    for step in map(filled, steps):
        folder = actions.get(step.get("uses", ""))
        if folder is None:
            yield {**step, "env": {**environment, **step.get("env", {})}}
            continue
        action = read((folder / "action.yml").read_text())
        given = step.get("with", {})
        assert set(given) <= set(action["inputs"]), f"{step['uses']} has no such input: {given}"
        missing = [name for name, each in action["inputs"].items() if each.get("required") and name not in given]
        assert not missing, f"{step['uses']} needs {missing}"
        values = {name: given.get(name, each.get("default", "")) for name, each in action["inputs"].items()}
        yield from _steps(action["runs"]["steps"], actions, values, {"GITHUB_ACTION_PATH": str(folder)})


def gitlab(
    job_file: Path, job_name: str, included: Mapping[str, Path], folder: Path, environment: Mapping[str, str]
) -> Outcome:
    """`included`: files of other projects by name."""
    file = read(job_file.read_text())
    templates = read(included[file["include"]["file"]].read_text())
    job = {**templates[file[job_name]["extends"]], **file[job_name]}
    made = _Job(folder, environment)
    lines = [*job.get("before_script", []), *job["script"]]
    made.run("sh", "\n".join(lines), job.get("variables", {}))
    artifacts = job["artifacts"]
    assert artifacts["when"] == "always"
    for path in {*artifacts["paths"], *artifacts["reports"].values()}:
        made.keep(path, "".join(artifacts.get("exclude", [])))
    return made.outcome()
