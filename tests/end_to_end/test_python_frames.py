"""Python's frames in native stacks: functions and lines as the interpreter itself has them, of each version at hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

PROGRAMS = Path(__file__).resolve().parent / "python_programs"
PLANTED = PROGRAMS / "planted.py"
WOVEN = PROGRAMS / "woven.py"
NO_CACHE = {"PYTHONDONTWRITEBYTECODE": "1"}
# Blocks of all domains are the C library's.
ALL_BLOCKS = {"PYTHONMALLOC": "malloc"} | NO_CACHE
SUPPORTED = range(9, 15)


def _interpreters() -> list[Path]:
    """One of each version between 3.9 and 3.14 that this machine has."""
    candidates = [Path(sys.executable).resolve(), Path("/usr/bin/python3")]
    candidates += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin/python3"))
    candidates += [Path(path) for path in os.environ.get("TARE_TEST_PYTHONS", "").split(":") if path]
    found: dict[str, Path] = {}
    for path in candidates:
        if not path.exists():
            continue
        printed = subprocess.run([path, "-c", "import sys; print(sys.version)"], capture_output=True, text=True)
        version = re.match(r"3\.(\d+)", printed.stdout)
        if version and int(version[1]) in SUPPORTED:
            found.setdefault(printed.stdout.strip(), path)
    return list(found.values())


INTERPRETERS = _interpreters()
every_python = pytest.mark.parametrize("python", INTERPRETERS, ids=[str(path) for path in INTERPRETERS])


def sizes_by_line(tare: Tare, trace: Path, file: str) -> dict[int, int]:
    """Bytes that live at the end, by the line that names their site."""
    done = tare(
        "sql",
        trace,
        "select f.line, sum(s.end_blocks * s.requested_bytes) as bytes from site_sizes s"
        " join stack_sites using (stack_id) join sites on sites.site_id = stack_sites.site_id"
        f" join frames f on f.location_id = sites.site_location_id where f.file like '%{file}' group by f.line",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    return {row["line"]: row["bytes"] for row in json.loads(done.stdout) if row["bytes"]}


def folded(tare: Tare, trace: Path) -> list[list[str]]:
    done = tare("report", trace, "--folded", "--mode", "cumulative")
    assert done.returncode == 0, done.stderr
    return [line.rpartition(" ")[0].split(";") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("environment", [NO_CACHE, ALL_BLOCKS], ids=["pymalloc", "malloc"])
@every_python
def test_twenty_planted_sites_are_those_of_tracemalloc(tare: Tare, python: Path, environment: dict[str, str]) -> None:
    seen = subprocess.run(
        [python, PLANTED, "tracemalloc"], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    expected = {int(line): size for line, size in json.loads(seen.stdout).items()}
    found = sizes_by_line(tare, tare.record(python, PLANTED, env=environment), PLANTED.name)
    lines = PLANTED.read_text().splitlines()
    planted = [number for number, line in enumerate(lines, 1) if "# site " in line]
    assert len(planted) == 20
    for line in planted:
        assert found.get(line, 0) == pytest.approx(expected[line], rel=0.01), f"line {line}: {lines[line - 1]}"


@every_python
def test_frames_stand_between_the_native_frames_that_call_each_other(tare: Tare, python: Path) -> None:
    trace = tare.record(python, "-S", WOVEN)
    stacks = folded(tare, trace)
    through_sort = [stack for stack in stacks if stack[-1] != "sort_key" and "sort_key" in stack]
    assert through_sort
    for stack in through_sort:
        assert stack.count("main") <= 2, "the interpreter's own and the program's"
        between = stack[stack.index("<module>") : stack.index("sort_key")]
        assert "main" in between, stack
        assert len(between) > 3, f"native frames lie between Python's: {between}"
        assert not any("_PyEval_EvalFrameDefault" in frame for frame in between), between
    assert max(stack.count("recursive") for stack in stacks) == 201
    assert any("numbers" in stack for stack in stacks)
    threads = [stack for stack in stacks if "in_thread" in stack]
    assert threads
    assert not any("main" in stack for stack in threads)
    children = [stack for path in tare.others(trace.name) for stack in folded(tare, path)]
    assert any("in_child" in stack and "main" in stack for stack in children)


GENERATED = """
import os
for i in range(40):
    exec(compile("kept = bytearray(100_000)", f"<cell {i:02}>", "exec"), globals())
os._exit(0)
"""


@every_python
def test_a_code_object_at_the_address_of_another_has_its_own_name(tare: Tare, python: Path) -> None:
    trace = tare.record(python, "-S", "-c", GENERATED)
    done = tare("sql", trace, "select count(distinct file) as files from frames where file like '<cell%'", "--json")
    assert json.loads(done.stdout) == [{"files": 40}]


def test_sampled_recordings_and_contents_have_frames(tare: Tare) -> None:
    for options in (("--sample", "16K"), ("--content",)):
        trace = tare.record(sys.executable, "-S", WOVEN, options=options)
        assert any(stack.count("recursive") == 201 for stack in folded(tare, trace)), options


def test_deeper_recursion_than_a_stack_holds_keeps_the_innermost_frames(tare: Tare) -> None:
    program = """
import os, sys, threading
sys.setrecursionlimit(100_000)
threading.stack_size(512 << 20)
def down(n): return bytearray(70_000) if n == 0 else down(n - 1)
def run():
    global kept
    kept = down(12_000)
thread = threading.Thread(target=run)
thread.start()
thread.join()
os._exit(0)
"""
    trace = tare.record(sys.executable, "-S", "-c", program)
    assert max(stack.count("down") for stack in folded(tare, trace)) > 4000


def test_the_process_table_has_the_version(tare: Tare) -> None:
    trace = tare.record(sys.executable, "-S", "-c", "pass")
    done = tare("sql", trace, "select python from process", "--json")
    assert json.loads(done.stdout) == [{"python": f"3.{sys.version_info.minor}"}]


def test_the_caller_of_a_generator_is_a_function_of_python(tare: Tare) -> None:
    code = (
        "def pieces(count):\n    for each in range(count):\n        yield [each, each]\n"
        "def collect():\n    return [*pieces(200_000)]\n"
        "kept = collect()"
    )
    trace = tare.record(sys.executable, "-c", code, env=ALL_BLOCKS)
    listed = json.loads(tare("report", trace, "--json").stdout)["do_first"]["list"]
    callers = [[caller["function"] for caller in each["callers"]] for each in listed if each["function"] == "pieces"]
    assert callers and all(each == ["collect"] for each in callers), "not the interpreter's gen_iternext"
