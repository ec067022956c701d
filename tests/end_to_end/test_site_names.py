"""Which function a site is called by: whoever decided to allocate, past the C++ library and the program's own wrappers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from conftest import Tare


def headers_of(tare: Tare, trace: Path, env: Mapping[str, str] | None = None) -> set[str]:
    done = tare("report", trace, "--lens", "headers", "--json", env=env)
    assert done.returncode == 0, done.stderr
    return {each["function"] for each in json.loads(done.stdout)["findings"]}


def test_wrappers_of_the_programs_own_are_named_by_the_user(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("own_wrappers.c"))
    assert headers_of(tare, trace) == {"arena_get"}
    for wrappers in ("arena_get", "other, arena_*"):
        assert headers_of(tare, trace, {"TARE_WRAPPERS": wrappers}) == {"make_leaf", "make_branch"}
    assert headers_of(tare, trace, {"TARE_WRAPPERS": ",, *"}) == {"arena_get"}, "a star alone would be everything"


def test_a_wrapper_without_a_name_is_named_by_its_place(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("own_wrappers.c", "-s"))

    def places(env: Mapping[str, str] | None = None) -> set[str]:
        done = tare("report", trace, "--lens", "headers", env=env)
        assert done.returncode == 0, done.stderr
        return set(re.findall(r"own_wrappers-s\+0x[0-9a-f]+", done.stdout))

    (place,) = places()
    callers = places({"TARE_WRAPPERS": place})
    assert len(callers) == 2 and place not in callers


def test_containers_are_called_by_who_fills_them(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("container_fillers.cc", "-fno-inline"))
    assert headers_of(tare, trace) == {"fill_map(int)", "fill_list(int)", "name_all(int)", "share(int)"}


def test_the_summary_names_the_caller_that_the_report_names(tare: Tare, program: Callable[..., Path]) -> None:
    """The summary's sites have one frame; the first caller in time has 10 of 40,010 blocks."""
    path = program("unequal_callers.c")
    done = tare("run", "-o", "t.tare", "--", path)
    assert done.returncode == 0, done.stderr
    (first,) = re.findall(r"^ 1\. .*", done.stderr, re.MULTILINE)
    assert "copy_text" in first and " from read_word" in first and "read_option" not in done.stderr
    report = tare("report", "t.tare")
    assert report.returncode == 0, report.stderr
    assert re.search(r"called by read_word unequal_callers.c:\d+ 100%", report.stdout)
