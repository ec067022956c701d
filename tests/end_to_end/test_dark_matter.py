"""Dark matter: what the program's reports leave unclaimed, claim twice, or have forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Tare

INCLUDE = f"-I{Path(__file__).resolve().parent.parent.parent / 'include'}"
Program = Callable[..., Path]

# glibc: (request + 8) rounded up to 16, without the header of 8
HEADER = 8
ENTRIES, DARK, TABLE, SESSION, SLAB = 100 * 1000, 100 * 504, 808, 3000, 1032


def dark_matter(tare: Tare, trace: Path, *options: str) -> dict[str, Any]:
    done = tare("report", trace, "--mode", "dark-matter", "--json", *options)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def sections(found: dict[str, Any]) -> dict[str, Any]:
    return {section["section"]: section for section in found["sections"]}


def functions(stack: list[dict[str, Any]]) -> list[str]:
    return [frame["function"] for frame in stack]


def test_every_kind_of_mistake_is_named(tare: Tare, program: Program) -> None:
    trace = tare.record(program("dark_matter.c", INCLUDE))
    found = dark_matter(tare, trace)
    parts = sections(found)
    assert [section["section"] for section in found["sections"]] == ["twice-reported", "unreported", "once-reported"]
    (twice,) = parts["twice-reported"]["records"]
    assert twice["usable_bytes"] == TABLE
    assert functions(twice["stack"])[:2] == ["fill_cache", "main"]
    assert functions(twice["report_stack"])[:2] == ["report_cache", "main"]
    assert functions(twice["second_stack"])[:2] == ["report_table_too", "main"]
    assert (twice["path"], twice["second_path"]) == ("explicit/cache/table", "explicit/tables")
    dark, session = parts["unreported"]["records"]
    assert (dark["usable_bytes"], dark["blocks"], dark["stack"][0]["function"]) == (DARK, 100, "forget_things")
    assert (session["usable_bytes"], session["formerly"]) == (SESSION, "explicit/sessions/7")
    assert parts["once-reported"]["usable_bytes"] == ENTRIES + SLAB
    assert found["total"]["usable_bytes"] == ENTRIES + DARK + TABLE + SESSION + SLAB
    assert [(zombie["path"], zombie["usable_bytes"]) for zombie in found["zombies"]] == [
        ("explicit/sessions/7", SESSION)
    ]
    assert found["unknown_reports"] == 1
    text = tare("report", trace, "--mode", "dark-matter").stdout
    assert "explicit/sessions/7 isn't reported any more, but 1 block of it is still live: 2.93 KiB" in text
    assert "Reported again as explicit/tables at {" in text


def test_who_reports_everything_has_none(tare: Tare, program: Program) -> None:
    trace = tare.record(program("dark_matter.c", INCLUDE), "right")
    found = dark_matter(tare, trace)
    parts = sections(found)
    assert parts["unreported"]["usable_bytes"] == parts["twice-reported"]["usable_bytes"] == 0
    assert found["total"]["usable_bytes"] == parts["once-reported"]["usable_bytes"] == ENTRIES + TABLE + SLAB
    assert found["unknown_reports"] == 0


def test_other_moments(tare: Tare, program: Program) -> None:
    trace = tare.record(program("dark_matter.c", INCLUDE), "right")
    assert dark_matter(tare, trace, "--at", "end")["total"]["usable_bytes"] == SLAB
    assert dark_matter(tare, trace, "--at", "0s")["total"]["usable_bytes"] <= ENTRIES + TABLE + SLAB
    assert tare("report", trace, "--mode", "dark-matter", "--lens", "slop").returncode == 2


def test_the_tree_adds_up(tare: Tare, program: Program) -> None:
    trace = tare.record(program("dark_matter.c", INCLUDE))
    done = tare("tree", trace, "--json")
    tree = json.loads(done.stdout)["tree"]
    sizes = {child["name"]: child["bytes"] for child in tree["children"]}
    cache, dark, cells = ENTRIES + TABLE + 101 * HEADER, DARK + SESSION + 101 * HEADER, SLAB + HEADER
    assert tree["bytes"] == sum(sizes.values()) == cache + dark + cells
    assert sizes == {"cache": cache, "heap-unclassified": dark, "cells": cells}
    lines = tare("tree", trace, env={"COLUMNS": "70"}).stdout.splitlines()
    assert any(line.endswith("153.19 KiB (100.0%) -- explicit") for line in lines)
    assert "├───52.94 KiB (34.56%) ── heap-unclassified" in lines
    assert not any("forget_things" in line for line in lines), "report --mode dark-matter has the sites"
    assert all(len(line) <= 70 for line in lines)


@pytest.mark.parametrize("command", [("python3", "-c", "print(len([str(i) for i in range(50000)]))"), ("ls", "/")])
def test_a_program_that_reports_nothing_is_all_dark(tare: Tare, command: tuple[str, ...]) -> None:
    trace = tare.record(*command)
    found = dark_matter(tare, trace)
    assert sections(found)["unreported"]["usable_bytes"] == found["total"]["usable_bytes"]
    # of the peak: what all other reports say of it
    assert found["total"]["usable_bytes"] == tare.report(trace)["peak"]["usable_bytes"]
    assert "(100.0%) -- explicit" in tare("tree", trace).stdout


def test_a_reporters_books_are_held_against_its_blocks(tare: Tare, program: Program) -> None:
    trace = tare.record(program("shared_buffers.c", INCLUDE))
    known, wrong = dark_matter(tare, trace)["amounts"]
    assert (known["path"], known["reported_bytes"], known["usable_bytes"]) == ("explicit", 144_000, 144_000)
    assert (wrong["path"], wrong["reported_bytes"], wrong["blocks"], wrong["usable_bytes"]) == (
        "explicit/pictures",
        128_000,
        2000,
        144_000,
    )
    text = " ".join(tare("report", trace, "--mode", "dark-matter").stdout.split())
    assert "explicit/pictures: reports 125 KiB, but its 2,000 blocks used 141 KiB, 1.12 times that" in text
    assert "explicit: reports" not in text


def test_blocks_that_count_holders_for_nothing_are_named(tare: Tare, program: Program) -> None:
    trace = tare.record(program("shared_buffers.c", INCLUDE))
    rows = tare.sql(trace, "select requested_bytes, blocks, shared_blocks, end_blocks from sharing order by blocks")
    assert [list(row.values()) for row in rows] == [[64, 2000, 1000, 2000], [64, 5000, 0, 0]]
    (found,) = tare.report(trace, "--lens", "unshared")["findings"]
    assert (found["function"], found["calls"]) == ("make_message", 5000)
    assert "unshared" not in tare.report(trace)["lenses_run"]
