"""`tare report` of a folder and of a recording with the processes that its program started."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commanded import started

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]

PIPELINES = "for i in 1 2 3; do sort /etc/passwd | uniq -c > /dev/null; done"


def roles(report: dict[str, Any]) -> dict[str, int]:
    return {role["role"]: role["processes"] for role in report["roles"]}


def site(report: dict[str, Any], function: str) -> dict[str, Any]:
    (found,) = (each for each in report["sites"] if each["function"] == function)
    return dict(found)


def test_a_shells_children_are_roles_with_exact_sums(tare: Tare) -> None:
    trace = tare.record("bash", "-c", PIPELINES)
    report = tare.report(trace, "--group")
    found = roles(report)
    assert found["bash, first process"] == 1
    assert found["sort, started by bash"] == 3
    assert found["uniq, started by bash"] == 3
    assert sum(found.values()) == len(report["processes"])
    for process in report["processes"]:
        own = tare.report(Path(process["path"]))["peak"]["gross_bytes"]
        assert own == process["peak_gross_bytes"] + process["inherited_bytes"], process["path"]
    assert report["peak_gross_bytes"] == sum(each["peak_gross_bytes"] for each in report["processes"])
    assert report["peak_gross_bytes"] == sum(each["peak_gross_bytes"] for each in report["sites"])
    largest = max(each["peak_gross_bytes"] for each in report["processes"])
    assert largest <= report["at_once_gross_bytes"] <= report["peak_gross_bytes"]
    assert report["warnings"] == []
    assert tare.report(trace.with_name("t.tare.short"), "--group") == report, "of the container, too"


def test_workers_have_their_titles_and_no_blocks_of_the_parent(tare: Tare, program: Program) -> None:
    titled = program("titled.c")
    trace = tare.record(titled, "an argument that leaves room for a title")
    report = tare.report(trace, "--group")
    assert roles(report) == {f"{titled.name}, first process": 1, f"titled: worker N, forked by {titled.name}": 3}
    parents, workers = site(report, "main"), site(report, "work")
    assert parents["processes"] == 1 and 100_000 <= parents["peak_gross_bytes"] < 100_100
    assert workers["processes"] == 3 and 90_000 <= workers["peak_gross_bytes"] < 90_100
    assert report["inherited_bytes"] == 3 * report["processes"][1]["inherited_bytes"] > 300_000
    titles = {each["title"] for each in report["processes"][1:]}
    assert titles == {f"titled: worker {n}" for n in (1, 2, 3)}
    assert report["detail"]["path"] == str(trace)
    (row,) = tare.sql(trace, "select title, forked from process")
    assert row == {"title": None, "forked": 0}


def test_a_compilers_processes_are_one_group(tare: Tare) -> None:
    (tare.folder / "x.c").write_text('#include <stdio.h>\nint main(void) { return puts("x"); }\n')
    trace = tare.record("gcc", "-c", "x.c")
    report = tare.report(trace, "--group")
    programs = {process["program"]: process for process in report["processes"]}
    assert "cc1" in programs and any(program.endswith("as") for program in programs)
    assert report["detail"]["path"] == programs["cc1"]["path"]
    text = tare("report", trace, "--group").stdout
    assert "t.tare: " in text and "cc1, started by" in text and "in detail: cc1 (pid" in text
    assert f"next: tare report {programs['cc1']['path']}" in text
    listed = tare("report", trace).stdout
    assert "--group" in listed


def test_a_folder_is_a_group_and_bad_files_are_a_line_each(tare: Tare, program: Program) -> None:
    folder = tare.folder / "recordings"
    folder.mkdir()
    empty = tare("report", folder)
    assert empty.returncode == 2 and len(empty.stderr.splitlines()) == 1 and "no recording is in" in empty.stderr
    steady = program("steady.c")
    for name in ("a.tare", "b.tare"):
        tare.record(steady, tare.folder / "count", "1000", name=f"recordings/{name}")
    whole = tare.report(folder)
    assert whole["roles"] == [{**whole["roles"][0], "processes": 2}]
    (folder / "notes.txt").write_text("not a trace\n")
    (folder / "c.tare").write_text("not a trace either\n")
    (folder / "d.tare").write_bytes(b"TARETRC\n" + bytes(100))
    shutil.copy(folder / "a.tare", folder / "e.tare")
    damaged = bytearray((folder / "e.tare").read_bytes())
    damaged[len(damaged) // 2] ^= 0x55
    (folder / "e.tare").write_bytes(damaged)
    report = tare.report(folder)
    assert len(report["processes"]) >= 2
    for name in ("c.tare", "d.tare", "e.tare"):
        assert sum(name in warning for warning in report["warnings"]) == 1, report["warnings"]
    assert not any("notes.txt" in warning for warning in report["warnings"])
    text = tare("report", folder)
    assert text.returncode == 0 and "note: " in text.stdout


def test_a_live_recording_is_shown_as_far_as_it_is_written(tare: Tare, program: Program) -> None:
    command = [tare.command, "run", "-q", "-o", "t.tare", "--", program("commanded.c")]
    with started(command, tare.folder, recorded=True) as commanded:
        report = tare.report(tare.folder, "--group")
        assert [process["program"] for process in report["processes"]] == ["commanded"]
        assert any("is still being recorded" in warning for warning in report["warnings"])
        commanded.end()
    assert tare.report(tare.folder)["warnings"] == []


def test_options_for_one_process_are_refused(tare: Tare) -> None:
    trace = tare.record("true")
    refused = tare("report", trace, "--group", "--mode", "cumulative")
    assert refused.returncode == 2 and "-n and --json" in refused.stderr
    missing = tare("report", "none.tare", "--group")
    assert missing.returncode == 4 and len(missing.stderr.splitlines()) == 1
