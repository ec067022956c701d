"""The tools that check documents, licences and releases find what they are for."""

import os
import random
from pathlib import Path

import pytest
from tool_modules import load_tool

REPO = Path(__file__).resolve().parents[2]


def test_each_file_has_a_licence() -> None:
    spdx = load_tool("spdx")
    if not (REPO / ".git").exists():
        pytest.skip("not a checkout")
    assert spdx.wrong(REPO, spdx.tracked()) == []


def test_files_without_a_licence_are_found(tmp_path: Path) -> None:
    spdx = load_tool("spdx")
    (tmp_path / "a.cc").write_text("// Duty.\n#include <x>\n")
    (tmp_path / "b.cc").write_text("// Duty.\n// SPDX-License-Identifier: MIT\n")
    (tmp_path / "c.cc").write_text("// Duty.\n// SPDX-License-Identifier: Apache-2.0\n")
    names = ["a.cc", "b.cc", "c.cc"]
    assert [line.split(":")[0] for line in spdx.wrong(tmp_path, names)] == ["a.cc", "b.cc"]
    (tmp_path / "REUSE.toml").write_text('[[annotations]]\npath = "**"\nSPDX-License-Identifier = "Apache-2.0"\n')
    assert [line.split(":")[0] for line in spdx.wrong(tmp_path, names)] == ["b.cc"]
    (tmp_path / "REUSE.toml").write_text('[[annotations]]\npath = "*.h"\nSPDX-License-Identifier = "Apache-2.0"\n')
    assert [line.split(":")[0] for line in spdx.wrong(tmp_path, names)] == ["a.cc", "b.cc"]


def test_patches_have_the_licence_of_what_they_change(tmp_path: Path) -> None:
    spdx = load_tool("spdx")
    (tmp_path / "a.patch").write_text("--- a/awk.c\n")
    assert [line.split(":")[0] for line in spdx.wrong(tmp_path, ["a.patch"])] == ["a.patch"]
    (tmp_path / "REUSE.toml").write_text('[[annotations]]\npath = "*.patch"\nSPDX-License-Identifier = "MIT"\n')
    assert spdx.wrong(tmp_path, ["a.patch"]) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("// Duty\n// of it.\n#pragma once\n", "// Duty\n// of it.\n// {}\n#pragma once\n"),
        ("#pragma once\n", "// {}\n#pragma once\n"),
        ("// Duty\n// {}\nint x;\n", "// Duty\n// {}\nint x;\n"),
    ],
)
def test_the_line_comes_behind_the_duty(before: str, after: str) -> None:
    line = "SPDX-License-Identifier: Apache-2.0"
    assert load_tool("spdx").with_line(before.replace("{}", line), "//") == after.replace("{}", line)


def test_the_version_is_the_same_everywhere() -> None:
    release = load_tool("release")
    stated = release.stated_versions(REPO)
    assert len(set(stated.values())) == 1, stated
    assert "include/tare/version.h has" in release.version_problem(REPO, "99.0.0")


@pytest.mark.parametrize(
    ("changelog", "problem"),
    [
        ("# C\n\n## 1.0.0 (2026-11-23)\n\n- x\n", ""),
        ("# C\n\n## 1.0.0 (unreleased)\n\n- x\n", "in place of a date"),
        ("# C\n\n## 0.9.0 (2026-11-23)\n\n- x\n", "first section isn't 1.0.0"),
        ("# C\n\n## 1.0.0 (2026-11-23)\n\n## 0.9.0 (2026-01-01)\n\n- x\n", "is empty"),
    ],
)
def test_the_changelog_is_checked(changelog: str, problem: str) -> None:
    found = load_tool("release").changelog_problem(changelog, "1.0.0")
    assert problem in found
    assert bool(found) == bool(problem)


def test_the_nightly_run_is_recent_and_green(tmp_path: Path) -> None:
    release = load_tool("release")
    log = tmp_path / "nightly.log"
    assert "no log" in release.nightly_problem(None, 0)
    assert "no such file" in release.nightly_problem(log, 0)
    log.write_text("=== 12 passed\n")
    os.utime(log, (1000, 1000))
    assert release.nightly_problem(log, 2000) == ""
    assert "older than 36 hours" in release.nightly_problem(log, 1000 + 37 * 3600)
    log.write_text("FAILED tests/x.py::test_y\n")
    os.utime(log, (1000, 1000))
    assert "FAILED tests/x.py::test_y" in release.nightly_problem(log, 2000)


def test_sentences_are_found_in_each_kind_of_text() -> None:
    if not (REPO / ".git").exists():
        pytest.skip("not a checkout")
    sentences = load_tool("sentences")
    for kind in sentences.KINDS:
        found = sorted(set(sentences.all_of(kind)))
        assert len(found) > 100, kind
        assert random.Random(7).sample(found, 10) == random.Random(7).sample(found, 10)


def test_paragraphs_leave_out_code_and_tables(tmp_path: Path) -> None:
    sentences = load_tool("sentences")
    page = REPO / "docs/style.md"
    texts = [each.text for each in sentences.paragraphs(page)]
    assert any("subject is the thing that acts" in text for text in texts)
    assert not any("|" in text for text in texts)


def test_the_index_of_decisions_follows_the_files(tmp_path: Path) -> None:
    index = load_tool("decision_index")
    for name, title in (("0001-a.md", "# 0001 First"), ("0002-b.md", "# 0002: Second"), ("0201-c.md", "# Third")):
        (tmp_path / name).write_text(title + "\n\nStatus: accepted\n")
    files = sorted(tmp_path.glob("0*.md"))
    old = "# Decisions\n\n## Group\n\n- [0002](0002-b.md) old\n- [0009](0009-gone.md) x\n- [0001](0001-a.md) y\n"
    new = index.rewritten(old, files)
    assert new == (
        "# Decisions\n\n## Group\n\n- [0002](0002-b.md) Second\n- [0001](0001-a.md) First\n"
        "\n## Not grouped yet\n\n- [0201](0201-c.md) Third\n"
    )
    assert index.rewritten(new, files) == new


def test_a_sources_command_is_measured_without_launcher_and_outputs() -> None:
    tool = load_tool("compile_cost")
    command = "/usr/bin/ccache /usr/bin/g++ -I/a -O2 -std=c++20 -MD -MT x.cc.o -MF x.cc.o.d -o x.cc.o -c '/a b/x.cc'"
    assert tool.compiler_command(command) == ["/usr/bin/g++", "-I/a", "-O2", "-std=c++20", "/a b/x.cc"]
