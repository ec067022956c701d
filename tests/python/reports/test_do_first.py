"""The list that reports begin with: what it gains, what was too small, and what nobody looked for."""

from __future__ import annotations

import io

from handmade import Handmade, names_that_need
from tare.analysis.callers import callers
from tare.analysis.not_sought import not_sought
from tare.analysis.worth import ranking
from tare.reports import do_first, json_report
from tare.text.terminal import Style


def lines(made: Handmade, most: int = 10, width: int = 160) -> list[str]:
    recording = made.recording()
    return list(do_first.lines(recording, ranking(recording), Style(io.StringIO()), width, most))


def test_a_lower_bound_is_marked(made: Handmade) -> None:
    shape = made.blocks(made.stack("copy@a.c:1", "main"), 200, 200, total=1000, peak=1000)
    made.snapshot("peak", [(shape, 4096 + 208 * i, {"digest": i % 4}) for i in range(100)])
    first = lines(made)
    assert first[1].startswith(" 1. peak ≥9")
    assert any("at least 194 KiB" in line and "confidence medium" in line for line in first)


def test_a_sampled_gain_has_its_error() -> None:
    made = Handmade(sample_bytes=524_288)
    made.blocks(made.stack("node", "main"), 24, 24, total=2730 * 25, peak=2730 * 25, weight=2730.0)
    assert any("about 529 KiB +-20%" in line for line in lines(made))


def test_a_report_names_the_callers_of_a_line(made: Handmade) -> None:
    for caller, blocks in (("parse@p.c:5", 90_000), ("parse@p.c:9", 4_000), ("print", 3_000), ("read", 3_000)):
        made.blocks(made.stack("copy@a.c:1", caller, "main"), 24, 24, total=blocks, peak=blocks)
    recording = made.recording()
    listed = list(do_first.lines(recording, ranking(recording), Style(io.StringIO()), 160, 10))
    assert listed[2] == "    called by parse p.c:5 94%"
    (entry,) = json_report.do_first(recording)["list"]
    assert [(each["function"], each["share"]) for each in entry["callers"]] == [("parse", 0.94)]


def test_a_summary_has_the_largest_caller_beside_the_name_if_it_fits(made: Handmade) -> None:
    for caller, blocks in (("parse@p.c:5", 94_000), ("print", 6_000)):
        made.blocks(made.stack("copy@a.c:1", caller, "main"), 24, 24, total=blocks, peak=blocks)
    recording = made.recording()
    for width, beside in ((100, " from parse p.c:5 94%"), (40, "")):
        head = list(do_first.lines(recording, ranking(recording), Style(io.StringIO()), width, 4, remedy_lines=1))
        assert any(line.endswith(f"copy a.c:1{beside}") for line in head), head
        assert not any("called by" in line for line in head)


def test_callers_are_those_of_calls_where_no_bytes_are_saved(made: Handmade) -> None:
    for caller, total in (("parse", 9_000_000), ("read", 1_000_000)):
        stack = made.stack("copy@a.c:1", caller, "main")
        made.blocks(stack, 24, 24, total=total, peak=1, freed_within_16=total)
    recording = made.recording()
    (listed,) = ranking(recording).first
    assert not listed.worth.gain_peak_bytes
    (found,) = callers(recording, [listed])
    assert [(each.frame.function, each.share) for each in found] == [("parse", 0.9)]


def test_the_rest_is_counted(made: Handmade) -> None:
    for number in range(6):
        made.blocks(made.stack(f"f{number}", "main"), 24, 24, total=20_000, peak=20_000)
    first = lines(made, most=2)
    assert "  (4 more above 1%)" in first
    made.blocks(made.stack("large", "main"), 1 << 30, 1 << 30, total=1, peak=1)
    first = lines(made)
    assert "do first: no finding gains 1% of the gross peak (1.00 GiB) or of the run's time (2.00 s)" in first
    assert "  (6 findings below 1% of both: headers 6)" not in first, "below the lens's own threshold, too"


def test_each_lens_that_did_not_run_is_named_with_its_option(made: Handmade) -> None:
    made.blocks(made.stack("f", "main"), 24, 24, total=10, peak=10)
    assert not_sought(made.recording()) == {
        "tare run --content or --snapshots": names_that_need("snapshots"),
        "tare run --content": names_that_need("contents"),
    }
    made.snapshot("exit", [])
    made.with_contents()
    assert not_sought(made.recording()) == {}
    sampled = Handmade(sample_bytes=524_288)
    assert "twins" in not_sought(sampled.recording())["tare run without --sample"]


def test_the_largest_holders_are_named_without_a_finding(made: Handmade) -> None:
    for size, name in (
        (1 << 20, "one@a.c:1"),
        (1 << 21, "two@a.c:2"),
        (1 << 19, "three@a.c:3"),
        (1 << 18, "four@a.c:4"),
    ):
        made.blocks(made.stack(name, "main"), size, size, total=1, peak=1)
    (line,) = do_first.holders(made.recording(), 100)
    assert line == "largest at the peak: two a.c:2 53%, one a.c:1 27%, three a.c:3 13%"


def test_large_mappings_of_the_program_are_named(made: Handmade) -> None:
    mib = {"heap": 2, "gross": 1, "mapping": 30, "mapping_spread": 0, "file": 8, "shared": 0, "stack": 0, "other": 0}
    made._process.update({f"rss_{name}_bytes": size << 20 for name, size in mib.items()})
    made._process.update(peak_rss_bytes=40 << 20, spool_bytes=0, rss_recorder_bytes=0, rss_read_ns=500)
    made.blocks(made.stack("f@a.c:1", "main"), 1 << 20, 1 << 20, total=1, peak=1)
    unused = ("maps", "mapped_bytes", "unmapped_bytes", "unmapped_byte_ns", "max_bytes", "end_bytes")
    for name, resident in (("cache_grow@b.c:7", 20 << 20), ("log_open@c.c:9", 10 << 20)):
        mapping = dict.fromkeys(unused, 0) | {"accessible_bytes": resident, "resident_bytes": resident}
        made.tables["mappings"].append({"stack_id": made.stack(name, "main"), **mapping})
    shown = list(do_first.holders(made.recording(), 100))
    assert shown[1:] == ["largest own mappings, resident: cache_grow b.c:7 20.0 MiB, log_open c.c:9 10.0 MiB"]
    made._process["rss_mapping_bytes"] = 1 << 20  # less than a tenth of the peak RSS
    assert len(list(do_first.holders(made.recording(), 100))) == 1


def test_findings_whose_pages_were_never_touched_have_the_reason(made: Handmade) -> None:
    stack = made.stack("append@a.c:1", "main")
    size = 1 << 20
    shape = made.blocks(stack, size, size + 8, total=10, peak=10)
    made.blocks(stack, size // 2, size // 2 + 8, total=10, peak=0)
    made.chain(stack, grown_blocks=10, steps=10, max_requested_bytes=size)
    half = 10 * size / 2
    made.tables["written"].append(
        {"size_id": shape, "stack_id": stack, "requested_bytes": size, "ended_blocks": 10.0, "partly_blocks": 10.0,
         "unwritten_peak_bytes": half, "unwritten_total_bytes": half, "site_blocks": 20.0, "site_narrow_blocks": 0.0,
         "site_requested_bytes": size // 2, "site_high_water_bytes": size // 2, "max_high_water_bytes": size // 2}
    )  # fmt: skip
    first = lines(made.with_contents())
    assert "; pages of 5.00 MiB of headroom were never touched and return no RSS)" in first[-1], first
