"""Roles of a group's processes."""

from __future__ import annotations

from typing import Any

import pytest
from tare.analysis.group_files import base_of
from tare.analysis.roles import GroupProcess, name_of, process_of, roles_of

ROW: dict[str, Any] = {
    "program": "app",
    "pid": 10,
    "parent_pid": 1,
    "image_index": 0,
    "command_line": "app -v",
    "title": None,
    "forked": 0,
    "replaced_by_exec": 0,
    "start_realtime_ns": 0,
    "duration_ns": 5,
    "events": 7,
    "peak_gross_bytes": 100,
    "before_peak_gross_bytes": None,
    "peak_rss_bytes": None,
    "earlier_peak_rss_bytes": None,
    "spool_bytes": None,
    "rss_recorder_bytes": None,
}


def process(**facts: Any) -> GroupProcess:
    return process_of("app.tare", ROW | facts, 0.0, [])


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({}, "app"),
        ({"title": "postgres: ann db 127.0.0.1(54321) idle"}, "postgres: ann db N.N.N.N(N) idle"),
        ({"program": "python3.11", "command_line": "python3 /srv/train.py --fast"}, "python3.11 train.py"),
        ({"program": "bash", "command_line": "bash -c 'sleep 1'"}, "bash"),
        ({"program": "redis-check-rdb", "command_line": "redis-server"}, "redis-server = redis-check-rdb"),
        ({"command_line": "an 'unfinished quote"}, "an = app"),
        ({"command_line": "", "program": ""}, "(unknown)"),
    ],
)
def test_names(facts: dict[str, Any], name: str) -> None:
    assert name_of(process(**facts)) == name


def test_resident_memory_of_the_recorder_isnt_the_programs() -> None:
    assert process().peak_rss_bytes == 0
    assert process(peak_rss_bytes=100, spool_bytes=30, rss_recorder_bytes=20).peak_rss_bytes == 70


def test_origins() -> None:
    found = [
        process(program="bash", command_line="bash"),
        process(
            pid=11,
            parent_pid=10,
            forked=1,
            replaced_by_exec=1,
            program="bash",
            command_line="bash",
            start_realtime_ns=1,
        ),
        process(pid=11, parent_pid=10, image_index=1, program="ls", command_line="ls", start_realtime_ns=2),
        process(pid=12, parent_pid=10, forked=1, program="bash", command_line="bash", start_realtime_ns=3),
        process(pid=13, parent_pid=99, forked=1, program="bash", command_line="bash", start_realtime_ns=3),
    ]
    assert [str(role) for role in roles_of(found)] == [
        "bash, first process",
        "bash, forked by bash, until exec",
        "ls, started by bash",
        "bash, forked by bash",
        "bash, forked",
    ]


def test_a_segments_process_has_the_peak_of_all_segments() -> None:
    assert process(before_peak_gross_bytes=300).peak_gross_bytes == 300


@pytest.mark.parametrize("name", ["a.tare", "a.tare.short", "a.tare.short:12.e1", "a.tare.12", "a.tare.12.e0"])
def test_base_of_any_trace_of_a_recording(name: str, tmp_path: Any) -> None:
    (tmp_path / "a.tare").touch()
    assert base_of(str(tmp_path / name)) == str(tmp_path / "a.tare")


def test_a_name_that_ends_in_a_number_is_a_base(tmp_path: Any) -> None:
    (tmp_path / "app.1").touch()
    assert base_of(str(tmp_path / "app.1")) == str(tmp_path / "app.1")
