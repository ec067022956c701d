"""The text report: its balance adds up on paper, it keeps to the width, and says what is left out."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis import records
from tare.analysis.recording import Recording
from tare.reports import text_report
from tare.reports.text_parts import course
from tare.text.terminal import Style


def text(recording: Recording, lens: str | None = None, limit: int = 10, width: int = 100) -> str:
    page = None if lens else records.query(recording, "peak_blocks", "usable", [], limit)
    chosen = lenses.load_named(lens) if lens else []
    return "\n".join(
        text_report.report(recording, page, chosen, "Live at the peak", limit, Style(io.StringIO()), width)
    )


def column(report: str, label: str) -> int:
    match = re.search(rf"^\s*{re.escape(label)}\s+([\d,]+)", report, re.M)
    assert match, label
    return int(match[1].replace(",", ""))


def test_the_balance_adds_up_on_paper(busy: Handmade) -> None:
    report = text(busy.recording())
    assert column(report, "gross") == column(report, "- tare") + column(report, "= net")
    assert column(report, "- tare") == column(report, "slop") + column(report, "headers")


def test_records_show_size_share_and_stack(busy: Handmade) -> None:
    report = text(busy.recording(), limit=1)
    assert "400 blocks in record 1 of 4" in report
    assert "800 KiB gross (403 KiB requested / 394 KiB slop / 3.12 KiB headers)" in report
    assert "Individual block sizes in bytes: 2,040 x 400" in report
    assert "56.13% of the heap (56.13% cumulative)" in report
    assert "#01: arena_grow (/src/arena.c:40)" in report
    assert "(3 more)" in report


@pytest.mark.slow
def test_the_width_is_kept(looked_into: Handmade) -> None:
    busy = looked_into
    busy.blocks(busy.stack("f" * 300 + "@/src/" + "d" * 200 + "/x.c:1", "main"), 10_000, 10_008, total=100, peak=100)
    busy.nameless = [("/" + "long/" * 30 + "app", "replaced")]
    for width in (40, 60, 66, 80, 132):
        for lens in (None, ",".join(lenses.NAMES)):
            long = [
                line
                for line in text(busy.with_contents().recording(), lens, width=width).splitlines()
                if len(line) > width
            ]
            assert not long


def test_narrow_balances_keep_their_sums_in_round_numbers(busy: Handmade) -> None:
    lines = text(busy.recording(), width=40).splitlines()
    gross = next(line for line in lines if line.startswith("gross"))
    assert re.fullmatch(r"gross +[\d.]+ [KM]iB 100% +[\d.]+ [KM]?i?B 100%", gross)


def test_several_lenses_are_shown_in_their_order(busy: Handmade) -> None:
    report = text(busy.recording(), "growth,slop")
    assert report.index("size class") < report.index("Which buffers grow")
    assert report.count("question ") == 2


def test_files_without_names_are_told(busy: Handmade) -> None:
    assert "no names" not in text(busy.recording())
    busy.nameless = [
        ("/bin/app", "replaced"),
        ("/lib/a.so", "stripped"),
        ("/lib/b.so", "missing"),
        ("/lib/c.so", "missing"),
    ]
    report = text(busy.recording(), width=200)
    assert "note: no names for functions in /bin/app: it has another build id" in report
    assert "/lib/a.so: it is stripped" in report and "nor for those in 1 other file" in report


def test_a_file_without_names_has_one_note(made: Handmade) -> None:
    made.blocks(made.stack("?", "main"), 1, 24, total=100_000, peak=100_000)
    assert "so some sites are file+offset" in text(made.recording(), width=200)
    made.nameless = [("/bin/app", "stripped")]
    report = text(made.recording(), width=200)
    assert "no names for functions in /bin/app" in report
    assert "so some sites are file+offset" not in report


def test_a_lens_report_has_all_of_its_words(busy: Handmade) -> None:
    report = text(busy.recording(), "growth")
    for words in ("question", "why", "threshold", "may be wrong", "sampling", "append buffer.c:12", "12,000,000"):
        assert words in report
    assert "Live at the peak" not in report


def test_unknown_names_are_places_in_a_file(made: Handmade) -> None:
    made.blocks(made.stack("?", "main"), 8, 24, total=1, peak=1)
    assert re.search(r"#01: app\+0x[0-9a-f]+", text(made.recording()))


def test_caveats_are_said(busy: Handmade) -> None:
    made = Handmade(dropped_events=3, impossible_events=1, inherited_blocks=2, sample_bytes=524288)
    made.blocks(made.stack("f"), 8, 24, total=1.5, peak=1.5)
    report = text(made.recording())
    assert "3 events were dropped" in report and "1 event contradicts" in report and "inherited" in report
    assert "sampled every 512 KiB" in report
    assert "~2 blocks" in report  # scaled figures are marked


def test_contradictions_have_their_cause() -> None:
    for apis, cause in (
        (["foreign malloc", "malloc"], "a bug in Tare"),
        (["foreign malloc", "foreign calloc"], "own malloc has functions"),
    ):
        made = Handmade(impossible_events=2)
        for api in apis:
            made.blocks(made.stack("f"), 8, 24, total=1, peak=1, api=api)
        assert re.search(rf"2 events contradict others: .*{cause}", text(made.recording()))


def test_the_signal_that_killed_a_program_has_its_name() -> None:
    for status, words in ((6, "signal 6 (SIGABRT);"), (40, "signal 40;")):
        made = Handmade(wait_status=status)
        made.blocks(made.stack("f"), 8, 24, total=1, peak=1, end=1)
        assert f"the program was killed by {words}" in " ".join(text(made.recording()).split())


def killed(certainty: str, **facts: Any) -> str:
    process: dict[str, Any] = {
        "wait_status": 9,
        "peak_rss_bytes": 70 << 20,
        "out_of_memory": certainty,
        "memory_group": "/sys/fs/cgroup/app",
        "memory_kills_before": 2,
        "memory_kills_after": 3,
        "memory_deaths": 1,
        "memory_limit_bytes": 64 << 20,
    }
    made = Handmade(**(process | facts))
    made.blocks(made.stack("f"), 8, 24, total=1, peak=1, end=1)
    return " ".join(text(made.recording()).split())


def test_a_kill_for_lack_of_memory_is_stated_with_the_heap_then() -> None:
    report = killed("yes")
    assert (
        "the process was killed by the out-of-memory killer (signal 9 (SIGKILL)): the control group /sys/fs/cgroup/app counted 1 such kill "
        "(2 to 3); its memory limit was 64.0 MiB; 32 B of the heap were live then, and its RSS was at most 70.0 MiB; all events until "
        "then are recorded"
    ) in report
    assert "killed by signal" not in report
    assert "the machine's memory may have been used up" in killed("yes", memory_limit_bytes=None)


def test_a_kill_for_lack_of_memory_that_isnt_sure() -> None:
    report = killed("likely", memory_deaths=2, wait_status=None)
    assert "was probably killed by the out-of-memory killer: the control group" in report
    assert "in which 2 recorded processes ended" in report
    report = killed("unknown", memory_group=None, memory_limit_bytes=None)
    assert (
        "the program was killed by signal 9 (SIGKILL); it may have been an out-of-memory kill: the machine counted 1 such kill (2 to 3)"
    ) in report


def test_files_without_unwind_tables_are_named(made: Handmade) -> None:
    stack = made.stack("scale@scale.S:12", "main")
    made.blocks(stack, 8, 24, total=1, peak=1)
    row = next(each["location_id"] for each in made.tables["stacks"] if each["stack_id"] == stack)
    made.tables["unwind_gaps"] = [
        {"module_id": 0, "location_id": row, "stacks": 7000},
        {"module_id": None, "location_id": row, "stacks": 1},
    ]
    report = text(made.recording(), width=400)
    assert "7,000 stacks end in scale of app, which has no unwind table (.eh_frame)" in report
    assert "1 stack ends in code made at run time" in report
    assert "unwind table" not in text(Handmade().recording())
    few = Handmade(alloc_events=8_000_000)
    few.tables["unwind_gaps"] = made.tables["unwind_gaps"]
    assert "unwind table" not in text(few.recording())


def test_blocks_from_before_are_said_to_be_missing() -> None:
    for frees, said in ((0, "aren't in the figures\n"), (12, "aren't in the figures (12 of them were freed later)\n")):
        made = Handmade(paused_ns=3_000_000_000, pre_existing_frees=frees)
        made.blocks(made.stack("f"), 8, 24, total=1, peak=1)
        report = text(made.recording(), width=200)
        assert f"the recorder was paused for 3.00 s: blocks allocated meanwhile {said}" in report
        assert "in all: 1 block, " in report


@pytest.mark.parametrize(
    ("program", "command", "title"),
    [
        ("app", "/opt/app -x", "app"),
        ("redis-check-rdb", "/usr/bin/redis-server /etc/redis.conf", "redis-server = redis-check-rdb"),
        ("redis-check-rdb", "'redis-server *:6379'", "redis-server = redis-check-rdb"),
        ("sshd", "'sshd: root@pts/0'", "sshd"),
        ("app", "'/opt/my app/bin/app'", "app"),
        ("app", "'/opt/my app/bin/app' -c 'x y'", "app"),
        ("bash", "-bash", "bash"),
    ],
)
def test_a_program_goes_by_the_name_it_was_called(program: str, command: str, title: str) -> None:
    made = Handmade(program=program, command_line=command)
    made.blocks(made.stack("f"), 8, 24, total=1, peak=1)
    assert made.recording().title == f"{title} (pid 4711)"


def test_nothing_allocated_is_no_crash(made: Handmade) -> None:
    assert "no blocks" in text(made.recording())


def test_what_a_potential_lens_isnt_sure_of_is_counted_and_shown_by_name(made: Handmade) -> None:
    shape = made.blocks(made.stack("keep@a.c:1"), 4096, 4104, total=100, peak=100, end=100)
    made.snapshot("exit", [(shape, 8192 * i, {"last_write_ns": 0}) for i in range(100)])
    report = text(made.recording())
    assert "hoards: no findings above its threshold" in report
    assert "(1 finding of low confidence; --lens hoards prints" in report
    assert "100 blocks lay unchanged" not in report
    assert "100 blocks lay unchanged" in " ".join(text(made.recording(), "hoards").split())


def test_the_default_findings_are_those_of_the_report(busy: Handmade) -> None:
    report = text(busy.recording())
    found = list(text_report.default_findings(busy.recording()))
    assert found
    for _, finding, named in found:
        assert named.name in report and finding.remedy_in("C").split()[0] in report


def test_the_course_of_the_run_is_drawn(busy: Handmade) -> None:
    """Growing to the middle, falling to a quarter: tallest bar there, ends as told, a bar where nothing happened as before."""
    for step, gross in ((1, 1000), (2, 4000), (5, 8000), (10, 2000)):
        busy.tables["timeline"].append({"time_ns": 2 * step * 10**8, "max_gross_bytes": gross, "gross_bytes": gross})
    for width in (40, 80, 200):
        (line,) = course(busy.recording(), width)
        assert len(line) <= width
        assert line.endswith("0 to 2.00 s")
        bars = line.split()[2]
        assert bars[len(bars) // 2] == "█"
        assert bars[0] == "▁"
        assert bars[-1] == "▂"
        assert bars[len(bars) // 4] == bars[len(bars) * 2 // 5], "nothing happened between"


def test_no_course_of_nothing(made: Handmade) -> None:
    assert course(made.recording(), 80) == []


def test_a_budget_that_widened_or_stopped_sampling_is_stated() -> None:
    widened = Handmade(sample_bytes=512 << 10, sample_doublings=3)
    assert "sampled every 512 KiB, at the end 4.00 MiB: figures are scaled" in text(widened.recording(), width=200)
    for limit, reason in (
        ("memory", "took more memory"),
        ("disk", "took the disk space"),
        ("cpu", "share of CPU time"),
    ):
        stopped = Handmade(sample_bytes=4096, sampling_stopped_by=limit, sampling_stopped_ns=2_500_000_000)
        report = text(stopped.recording(), width=200)
        assert reason in report
        assert "sampling stopped after 2.50 s, and blocks allocated later aren't in the figures" in report
