"""The programs that the spine bench records, with their preparations."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.measure import BUILD, ROOT

WORKLOADS = ROOT / "bench/workloads"
INPUTS = ROOT / "build/bench-inputs"
DEBIAN_PYTHON = "/usr/bin/python3.11"  # has its debug files in a package, so names resolve for every subject


@dataclass(frozen=True)
class Case:
    name: str
    what: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    python_script: str | None = None  # for a profiler that runs scripts instead of commands


def generated(file: Path, write: Callable[[Path], None], *sources: Path) -> Path:
    """`file`, made by `write` unless it is newer than the scripts that decide its content."""
    if not file.exists() or any(source.stat().st_mtime > file.stat().st_mtime for source in sources):
        INPUTS.mkdir(parents=True, exist_ok=True)
        write(file)
    return file


def script_output(script: Path) -> bytes:
    return subprocess.run([sys.executable, script], stdout=subprocess.PIPE, check=True).stdout


def cc1plus() -> Case:
    generator = WORKLOADS / "heavy_cpp.py"

    def write(file: Path) -> None:
        source = file.with_suffix(".cc")
        source.write_bytes(script_output(generator))
        subprocess.run(["g++", "-std=c++20", "-E", source, "-o", file], check=True)

    preprocessed = generated(INPUTS / "heavy.ii", write, generator)
    compiler = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return Case(
        "cc1plus",
        "the C++ compiler proper at -O0 on a generated file of regexes, maps, ranges and variants",
        [compiler, "-quiet", "-fpreprocessed", "-std=c++20", "-O0", str(preprocessed), "-o", "/dev/null"],
    )


def python() -> Case:
    script = str(WORKLOADS / "json_dicts.py")
    return Case(
        "python",
        "Debian's python3.11 under PYTHONMALLOC=malloc: JSON written and read back, dicts, sorting",
        [DEBIAN_PYTHON, script],
        {"PYTHONMALLOC": "malloc"},
        python_script=script,
    )


def git() -> Case:
    generator = WORKLOADS / "git_history.py"

    def write(mark: Path) -> None:
        repository = mark.with_suffix("")
        shutil.rmtree(repository, ignore_errors=True)
        subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
        with subprocess.Popen([sys.executable, generator], stdout=subprocess.PIPE) as history:
            subprocess.run(
                ["git", "-C", repository, "fast-import", "--quiet", "--force"], stdin=history.stdout, check=True
            )
        if history.returncode != 0:
            raise RuntimeError(f"{generator} ended with status {history.returncode}")
        subprocess.run(["git", "-C", repository, "repack", "-adq"], check=True)
        mark.touch()

    mark = generated(INPUTS / "history.done", write, generator)
    return Case(
        "git",
        "`git log --stat` over a generated history of 20,000 commits",
        ["git", "-C", str(mark.with_suffix("")), "log", "--stat", "main"],
    )


def sqlite() -> Case:
    script = WORKLOADS / "million_rows.sql"
    return Case(
        "sqlite",
        "a million rows in memory, an index, grouping and sorting",
        ["sqlite3", ":memory:", f".read {script}"],
    )


def stress() -> Case:
    return Case(
        "stress",
        "two threads, 20 million malloc and free calls from changing stacks some 15 frames deep",
        [str(BUILD / "bench-stress")],
    )


CASES: dict[str, Callable[[], Case]] = {
    "cc1plus": cc1plus,
    "python": python,
    "git": git,
    "sqlite": sqlite,
    "stress": stress,
}
