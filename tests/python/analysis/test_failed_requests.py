"""Failed requests by line and entry point, the last one first, in reports, in JSON and after a bad end."""

from __future__ import annotations

import io
import signal
from typing import Any

import pytest
from handmade import Handmade
from tare.analysis.failed_requests import failed_requests
from tare.reports import failed_requests as lines_of
from tare.reports.run_summary import Image, summary
from tare.text.terminal import Style

GIB = 1 << 30
EXIT_1 = 1 << 8


def fail(made: Handmade, stack: int, number: int, size: int, **more: Any) -> None:
    made.tables["failed_requests"].append(
        {"stack_id": stack, "api": "malloc", "requests": 1, "min_requested_bytes": size, "max_requested_bytes": size,
         "first_ns": number * 100_000_000, "last_ns": number * 100_000_000, "last_requested_bytes": size, "last_thread": 0,
         "last_number": number, **more}
    )  # fmt: skip


def named(made: Handmade, *functions: str) -> int:
    stack = made.stack(*functions)
    made.blocks(stack, 100, 104, total=1)
    return stack


def screen(made: Handmade, width: int = 160) -> list[str]:
    return list(summary(made.recording(), [Image("a.tare", "app", 1, 9, 9)], Style(io.StringIO()), width))


def test_rows_of_one_line_are_merged_and_the_last_comes_first() -> None:
    made = Handmade()
    fail(made, named(made, "load@a.c:1", "main"), 1, 3 * GIB)
    fail(made, named(made, "build@b.c:2", "main"), 3, 8 * GIB, requests=2, min_requested_bytes=GIB)
    fail(made, named(made, "load@a.c:1", "other"), 4, 2 * GIB)
    first, second = failed_requests(made.recording())
    assert (first.frame.function, first.requests, first.min_requested_bytes, first.max_requested_bytes) == (
        "load", 2, 2 * GIB, 3 * GIB)  # fmt: skip
    assert (first.first_ns, first.last_ns, first.last_requested_bytes) == (100_000_000, 400_000_000, 2 * GIB)
    assert (second.frame.function, second.requests) == ("build", 2)
    listed = lines_of.as_json(made.recording())
    assert listed is not None
    assert [each["function"] for each in listed] == ["load", "build"]


def test_those_of_imported_recordings_are_unknown() -> None:
    assert lines_of.as_json(Handmade(imported_from="heaptrack").recording()) is None
    assert lines_of.as_json(Handmade().recording()) == []


@pytest.mark.parametrize(
    ("status", "shown"), [(None, False), (0, False), (EXIT_1, True), (signal.SIGABRT, True), (signal.SIGKILL, True)]
)
def test_the_summary_shows_the_last_one_after_a_bad_end(status: int | None, shown: bool) -> None:
    made = Handmade(wait_status=status)
    fail(made, named(made, "load@a.c:1", "main"), 1, 5000)
    fail(made, named(made, "build@b.c:2", "main"), 18, 8 * GIB)
    line = "the last request that failed: malloc of 8.00 GiB in build b.c:2, 0.20 s before the end (18 requests failed)"
    assert (line in screen(made)) == shown
    assert list(lines_of.lines(made.recording(), 160)) == [line]


def test_no_line_without_a_failure() -> None:
    made = Handmade(wait_status=signal.SIGABRT)
    named(made, "load@a.c:1", "main")
    assert not any("failed" in line for line in screen(made))


def test_a_size_that_no_column_holds() -> None:
    made = Handmade(wait_status=signal.SIGABRT)
    fail(made, named(made, "load@a.c:1", "main"), 1, 2**63 - 1, api="calloc")
    assert "failed: calloc of 8 EiB or more in load a.c:1" in "\n".join(screen(made))
    assert all(len(line) <= 40 for line in screen(made, 40))
