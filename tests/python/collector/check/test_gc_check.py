"""gc-check: finds what is marked in a file of mistakes, nothing in a file without, and what was planted in many classes."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from tare import cli

pytest.importorskip("clang.cindex", reason="pip install libclang, or Debian's python3-clang-19")
from tare.collector.check.rules import RULES

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[3] / "include"


def check(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict]:
    status = cli.main(["gc", "check", "--json", *map(str, arguments), "--", f"-I{INCLUDE}"])
    return status, json.loads(capsys.readouterr().out)


def found_lines(result: dict) -> set[tuple[int, str]]:
    return {(finding["line"], finding["rule"]) for finding in result["findings"]}


def test_every_marked_mistake_is_found_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    source = HERE / "sources/bad.cc"
    marked = {
        (number, rule[1])
        for number, line in enumerate(source.read_text().splitlines(), 1)
        if (rule := re.search(r"// expect: ([-\w]+)", line))
    }
    status, result = check(capsys, source)
    assert result["errors"] == []
    assert found_lines(result) == marked
    assert {rule for _, rule in marked} == set(RULES), "every rule has a case"
    assert status == 1


def test_what_is_right_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    status, result = check(capsys, HERE / "sources/good.cc")
    assert result["errors"] == [] and result["findings"] == []
    assert result["classes"] >= 9
    assert status == 0


def planted(folder: Path, files: int, classes: int) -> set[tuple[str, str]]:
    """Sources of many classes with mistakes at known places: (field, rule)."""
    chance = random.Random(1)
    expected = set()
    for file in range(files):
        text = '#include "tare/gc/heap_vector.h"\n#include <vector>\nnamespace gc = tare::gc;\n'
        for number in range(classes):
            name = f"C{file}_{number}"
            base = f"gc::GarbageCollected<{name}>" if number % 5 == 0 else f"C{file}_{number // 5 * 5}"
            fields, traces = [], [] if number % 5 == 0 else [f"{base}::trace(visitor);"]
            mistake = chance.choice([None, None, "untraced-member", "hidden-member", "raw-pointer", "untraced-base"])
            for index in range(chance.randrange(1, 6)):
                field = f"f{file}_{number}_{index}_"
                fields.append(f"gc::{chance.choice(['Member', 'WeakMember'])}<{name}> {field};")
                if mistake == "untraced-member" and index == 0:
                    expected.add((field, mistake))
                else:
                    traces.append(f"visitor.trace({field});")
            wrong = f"w{file}_{number}_"
            if mistake == "hidden-member":
                fields.append(f"std::vector<gc::Member<{name}>> {wrong};")
                expected.add((wrong, mistake))
            elif mistake == "raw-pointer":
                fields.append(f"{name}* {wrong} = nullptr;")
                expected.add((wrong, mistake))
            elif mistake == "untraced-base" and number % 5 != 0:
                traces = traces[1:]
                expected.add((f"trace {name}", mistake))
            text += (
                f"class {name} : public {base} {{\n public:\n  void trace(gc::Visitor& visitor) const {{ {' '.join(traces)} }}\n"
                f" private:\n  {' '.join(fields)}\n}};\n"
            )
        (folder / f"part{file}.cc").write_text(text)
    return expected


@pytest.mark.slow
def test_what_was_planted_in_many_classes_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = planted(tmp_path, files=3, classes=150)
    status, result = check(capsys, tmp_path, "--root", tmp_path)
    assert result["errors"] == []
    found = {
        (f"trace {f['class_name']}" if f["rule"] == "untraced-base" else f["field"], f["rule"])
        for f in result["findings"]
    }
    assert found == expected != set()
    assert result["classes"] == 450 and status == 1


@pytest.mark.slow
def test_a_compilation_database_says_what_to_read_and_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        {
            "directory": str(tmp_path),
            "file": str(HERE / "sources" / name),
            "command": f"ccache c++ -std=c++20 -I{INCLUDE} -o x.o -c {name}",
        }
        for name in ("good.cc", "bad.cc")
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    assert cli.main(["gc", "check", "-p", str(tmp_path), str(HERE / "sources/good.cc")]) == 0
    assert "1 sources read" in capsys.readouterr().out
    assert cli.main(["gc", "check", "-p", str(tmp_path), "--root", str(HERE)]) == 1
    output = capsys.readouterr().out
    assert "2 sources read" in output and "bad.cc:32:21: trace() doesn't name it" in output
    assert cli.main(["gc", "check", "-p", str(tmp_path / "none")]) == 4
    assert "compile_commands.json" in capsys.readouterr().err
    (tmp_path / "compile_commands.json").write_text("{")
    assert cli.main(["gc", "check", "-p", str(tmp_path)]) == 2


def test_what_cant_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.cc").write_text('#include "nowhere.h"\nstruct A {};\n')
    assert cli.main(["gc", "check", str(tmp_path / "broken.cc"), "--root", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "nowhere.h" in captured.err
    assert cli.main(["gc", "check", str(tmp_path / "none.cc")]) == 4
    assert cli.main(["gc", "check"]) == 2
