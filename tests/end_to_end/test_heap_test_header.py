"""tare/heap_test.h in real test programs of GoogleTest, Catch2 and doctest: a broken limit fails its test case, and no other."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from conftest import Tare

REPO = Path(__file__).resolve().parents[2]
CASES = REPO / "tests/end_to_end/programs/heap_test_cases.h"
BROKEN = {"TooMany": 1, "TooLarge": 1, "Leaking": 1, "Wasteful": 1}  # failures of each
KEPT = {"Kept", "Nothing", "Threads"}


class Framework(NamedTuple):
    header: str  # that is looked for
    source: str
    libraries: tuple[str, ...]
    one: Callable[[str], str]  # the option that runs one case


FRAMEWORKS = {
    "googletest": Framework(
        "gtest/gtest.h",
        "#include <gtest/gtest.h>\n#define TARE_CASE(name) TEST(Heap, name)\n",
        ("-lgtest", "-lgtest_main"),
        lambda name: f"--gtest_filter=Heap.{name}",
    ),
    "catch2": Framework(
        "catch2/catch.hpp",
        '#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n#define TARE_CASE(name) TEST_CASE(#name ", a case [1]")\n',
        (),
        lambda name: f"{name}\\, a case \\[1]",
    ),
    "doctest": Framework(
        "doctest/doctest.h",
        "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n"
        '#define TARE_CASE(name) TEST_CASE(#name ", a case")\n',
        (),
        lambda name: f"--test-case={name}\\, a case",
    ),
}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def tests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Framework, Path]:
    """A test program."""
    framework = FRAMEWORKS[request.param]
    if not any(Path(root, framework.header).exists() for root in ("/usr/include", "/usr/local/include")):
        pytest.skip(f"{request.param} isn't installed")
    folder = tmp_path_factory.mktemp(request.param)
    source = folder / "cases.cc"
    source.write_text(f'{framework.source}#include "{CASES}"\n')
    strict = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror=unused-parameter"]
    command = ["g++", "-std=c++20", "-g", "-O0", *strict, f"-I{REPO}/include", str(source), "-o", str(folder / "cases")]
    done = subprocess.run([*command, *framework.libraries], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"heap_test\.h:\d+:\d+: warning", done.stderr), done.stderr
    return framework, folder / "cases"


def run(tests: tuple[Framework, Path], name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    framework, program = tests
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder), **variables}
    command = [program, framework.one(name)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_broken_limits_fail_at_their_lines_and_kept_ones_pass(tests: tuple[Framework, Path], tare: Tare) -> None:
    lines = CASES.read_text().splitlines()
    for name in (*BROKEN, *KEPT):
        done = run(tests, name, tare.folder / name, TARE=tare.command)
        out = done.stdout + done.stderr
        found = re.sub(r"\n\s*", " ", out)  # frameworks wrap lines
        assert found.count("the heap exceeds a limit") == BROKEN.get(name, 0), out
        assert (done.returncode == 0) == (name in KEPT), out
        traces = list((tare.folder / name).glob("*/heap.tare"))
        assert len(traces) == BROKEN.get(name, 0)  # those of kept limits are removed
        if name in BROKEN:
            (line,) = re.findall(r"heap_test_cases\.h[:(](\d+)\)?: ?(?:Failure|FAILED|ERROR)", found)
            begin = next(at for at, text in enumerate(lines, 1) if text.startswith(f"TARE_CASE({name})"))
            call = [at for at, text in enumerate(lines, 1) if at >= begin and "expect_heap" in text][BROKEN[name] - 1 :]
            assert int(line) == call[1 if name == "Leaking" else 0], out


def test_a_failure_has_figures_and_the_line_behind_them(tests: tuple[Framework, Path], tare: Tare) -> None:
    out = run(tests, "TooMany", tare.folder / "a", TARE=tare.command).stdout
    found = re.sub(r"\s+", " ", out)
    assert "total.blocks: 10, allowed 9" in found, out
    assert "keep(" in found and "has 10 allocations" in found, out
    (trace,) = (tare.folder / "a").glob("*/heap.tare")
    assert tare.report(trace)["total"]["blocks"] == 10


def test_without_the_command_nothing_is_checked_unless_that_is_required(
    tests: tuple[Framework, Path], tmp_path: Path
) -> None:
    done = run(tests, "TooMany", tmp_path / "a", TARE="/nowhere/tare")
    assert done.returncode == 0
    assert "the heap isn't checked: the command /nowhere/tare can't be run" in done.stderr
    done = run(tests, "TooMany", tmp_path / "b", TARE="/nowhere/tare", TARE_HEAP_TEST="require")
    assert done.returncode != 0
    assert "can't be run" in re.sub(r"\s+", " ", done.stdout)
